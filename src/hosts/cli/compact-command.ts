import { gzipSync } from "node:zlib";
import { Command } from "commander";
import { compact } from "../../compaction/compact.ts";
import type { Compacted, CompactOutcome } from "../../compaction/compact-outcome.ts";
import type { Summarizer } from "../../compaction/summarizer.ts";
import { readTranscript } from "../../formats/read-transcript.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { CliError, EXIT_CODES } from "./cli-error.ts";
import { colorsFor } from "./colors.ts";
import { type CompactFlags, checkPlaces, summarizerOf } from "./compact-flags.ts";
import { planFor } from "./compact-plan.ts";
import { compactReport } from "./compact-report.ts";
import { sizeOf } from "./count-of.ts";
import { describeCompaction } from "./describe-compaction.ts";
import { editedText } from "./edited-text.ts";
import { createPatience } from "./patience.ts";
import { type InputFile, readInput } from "./read-input.ts";
import { type FileVersion, fileVersion, replaceFile } from "./replace-file.ts";
import { sessionLabel } from "./session-name.ts";
import { shownText } from "./shown-text.ts";
import { warn } from "./warn.ts";
import { writeWhole } from "./write-whole.ts";

/** `carryover compact`: what a compaction would do to a session, or the compaction itself. */
export function compactCommand(): Command {
  return new Command("compact")
    .description("show what a compaction would sum up, keep and clear; with a model, do it")
    .argument("<file>", "a transcript of any format that is known, also gzipped; - reads standard input")
    .option("--json", "print for a program to read")
    .option("--window <tokens>", "the window of the model that reads the session", sizeOf, 200_000)
    .option("--keep <tokens>", "how much of the newest part stays word for word", sizeOf)
    .option("--model <name>", "the model that writes the summary; needs --url")
    .option("--url <url>", "an OpenAI-compatible API, such as http://localhost:11434/v1")
    .option("--key-env <name>", "the environment variable that holds the key for it")
    .option("--fold", "sum up without a model, mechanically")
    .option("--out <file>", "write the compacted session to another file")
    .option("--write", "write the compacted session into the file itself; a copy is kept beside it")
    .addHelpText("after", EXAMPLES)
    .action(runCompact);
}

const EXAMPLES = `
Examples:
  carryover compact session.jsonl
  carryover compact session.jsonl --model qwen3 --url http://localhost:11434/v1 --out compacted.jsonl
  carryover compact session.jsonl --model gpt-5-mini --url https://api.openai.com/v1 --key-env OPENAI_API_KEY --write
  carryover compact session.json --fold > compacted.json

Without --model and --fold nothing is done and nothing leaves the machine. With them the compacted session, in the
format of the file, goes to standard output unless --out or --write is given. Secrets are redacted before anything
is sent.`;

async function runCompact(path: string, flags: CompactFlags): Promise<void> {
  const summarizer = summarizerOf(flags);
  const isDryRun = summarizer === undefined && !flags.fold;
  checkPlaces(path, flags, isDryRun);
  const version = flags.write ? await fileVersionOf(path) : undefined;
  const patience = createPatience();
  patience.say(`reading ${path}`);
  const file = await readInput(path).finally(() => patience.end());
  warn(file);
  const plan = planFor(file, { windowTokens: flags.window, keepTokens: flags.keep });
  const outcome = await sumUp(plan, summarizer, flags.model);
  const description = describeCompaction(plan, outcome, { isDryRun, format: file.format });
  const isChanged = !isDryRun && outcome.status === "compacted";
  const text = isChanged ? await compactedText(file, outcome) : undefined;
  const written = text === undefined ? undefined : await put(text, { version, out: flags.out, file });
  const printed = written === undefined ? text : undefined;
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ ...description, ...written, text: printed }, null, 2)}\n`);
    return;
  }
  const stream = printed === undefined ? process.stdout : process.stderr;
  if (printed !== undefined) process.stdout.write(printed);
  const title = sessionLabel(file, file.name);
  stream.write(`${compactReport(description, { title, colors: colorsFor(stream), ...written })}\n`);
}

/** Carries the plan out; where a model was asked for, its summary counts and no other. */
async function sumUp(
  plan: Parameters<typeof compact>[0],
  summarizer: Summarizer | undefined,
  model = "",
): Promise<CompactOutcome> {
  const patience = createPatience();
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop);
  try {
    patience.say(summarizer === undefined ? "summing up" : `${model} writes the summary`);
    const outcome = await compact(
      plan,
      { clock: createSystemClock(), ...(summarizer && { summarizer }) },
      { at: Date.now(), signal: stopping.signal },
    );
    if (outcome.status === "unchanged" && outcome.reason === "aborted")
      throw new CliError("Stopped; nothing was changed", [], { exitCode: EXIT_CODES.stopped });
    if (summarizer !== undefined && outcome.status === "compacted" && outcome.degraded !== undefined)
      throw notSummarized(outcome);
    return outcome;
  } finally {
    patience.end();
    process.off("SIGINT", stop);
  }
}

/** A file that is not there is reported by whoever reads it. */
async function fileVersionOf(path: string): Promise<FileVersion> {
  return fileVersion(path).catch((error: unknown) => {
    throw new CliError(`Cannot read ${path}: ${(error as Error).message}`, [], { cause: error });
  });
}

function notSummarized({ degraded, detail }: Compacted): CliError {
  const said = detail === undefined ? "" : ` (${shownText(detail, MAX_DETAIL_CHARS)})`;
  return new CliError(
    `The model gave no summary that can be used: ${degraded}${said}`,
    ["Nothing was changed. Try again, name another model, or use --fold to sum up without one."],
    { exitCode: EXIT_CODES.outside },
  );
}

const MAX_DETAIL_CHARS = 300;

/** The file with the edits in it, read once more before anybody relies on it. */
async function compactedText(file: InputFile, outcome: Compacted): Promise<string> {
  const text = editedText(file, outcome.edits, { at: Date.now(), order: "of-time" });
  const again = await readTranscript(Buffer.from(text));
  const holdsSummary = again.transcript.some(({ parts }) =>
    parts.some((part) => part.type === "text" && part.text.includes(outcome.summary)),
  );
  if (again.format !== file.format || !holdsSummary)
    throw new Error(`The compacted ${file.format} session could not be read back; nothing was changed`);
  return text;
}

interface Place {
  readonly version: FileVersion | undefined;
  readonly out: string | undefined;
  readonly file: InputFile;
}

interface Written {
  readonly written: string;
  readonly backup?: string;
}

/** Where the session goes, packed as the file there is or as its name says. */
async function put(text: string, { version, out, file }: Place): Promise<Written | undefined> {
  if (version !== undefined) {
    const content = file.packing === "gzip" ? gzipSync(text) : text;
    return { backup: await replaceFile(version, content), written: version.path };
  }
  if (out === undefined) return undefined;
  await writeWhole(out, out.endsWith(".gz") ? gzipSync(text) : text, { mode: 0o600 });
  return { written: out };
}
