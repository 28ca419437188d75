import { gzipSync } from "node:zlib";
import { Command } from "commander";
import { compact } from "../../compaction/compact.ts";
import type { Compacted } from "../../compaction/compact-outcome.ts";
import type { Summarizer } from "../../compaction/summarizer.ts";
import { formatOf } from "../../formats/format-of.ts";
import { readTranscript, transcriptText } from "../../formats/read-transcript.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { CliError, EXIT_CODES } from "./cli-error.ts";
import { colorsFor } from "./colors.ts";
import { planFor } from "./compact-plan.ts";
import { compactReport, describeCompaction } from "./compact-report.ts";
import { sizeOf } from "./count-of.ts";
import { createOpenAiSummarizer } from "./openai-summarizer.ts";
import { createPatience } from "./patience.ts";
import { type InputFile, readInput } from "./read-input.ts";
import { fileVersion, replaceFile } from "./replace-file.ts";
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

interface CompactFlags {
  readonly json?: true;
  readonly window: number;
  readonly keep?: number;
  readonly model?: string;
  readonly url?: string;
  readonly keyEnv?: string;
  readonly fold?: true;
  readonly out?: string;
  readonly write?: true;
}

async function runCompact(path: string, flags: CompactFlags): Promise<void> {
  const summarizer = summarizerOf(flags);
  const isDryRun = summarizer === undefined && !flags.fold;
  checkPlaces(path, flags, isDryRun);
  const version = flags.write ? await fileVersionOf(path) : undefined;
  const patience = createPatience();
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop);
  try {
    patience.say(`reading ${path}`);
    const file = await readInput(path);
    warn(file);
    const plan = planFor(file, { windowTokens: flags.window, keepTokens: flags.keep });
    patience.say(flags.model === undefined ? "summing up" : `${flags.model} writes the summary`);
    const outcome = await compact(
      plan,
      { clock: createSystemClock(), ...(summarizer && { summarizer }) },
      { at: Date.now(), signal: stopping.signal },
    );
    patience.end();
    if (outcome.status === "unchanged" && outcome.reason === "aborted")
      throw new CliError("Stopped; nothing was changed", [], { exitCode: EXIT_CODES.stopped });
    if (summarizer !== undefined && outcome.status === "compacted" && outcome.degraded !== undefined)
      throw notSummarized(outcome);

    const description = describeCompaction(plan, outcome, { isDryRun, format: file.format });
    const isChanged = !isDryRun && outcome.status === "compacted";
    const content = isChanged ? await compactedContent(file, outcome) : undefined;
    const written = content === undefined ? undefined : await put(content, { version, out: flags.out });
    const report = flags.json
      ? JSON.stringify({ ...description, ...written }, null, 2)
      : compactReport(description, {
          title: sessionLabel(file, file.name),
          colors: colorsFor(process.stderr),
          ...written,
        });
    const isContentPrinted = content !== undefined && written === undefined;
    if (isContentPrinted) process.stdout.write(content);
    (isContentPrinted ? process.stderr : process.stdout).write(`${report}\n`);
  } finally {
    patience.end();
    process.off("SIGINT", stop);
  }
}

function summarizerOf({ model, url, keyEnv, fold }: CompactFlags): Summarizer | undefined {
  if (model === undefined && url === undefined) {
    if (keyEnv !== undefined) throw new CliError("--key-env is for a model", ["Add --model and --url."]);
    return undefined;
  }
  if (fold) throw new CliError("--fold is without a model", ["Leave out --fold, or --model and --url."]);
  if (model === undefined || url === undefined)
    throw new CliError("--model and --url belong together", ["Name the model, and where its API is."]);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CliError(`${url} is no address of an API`, ["Give one such as http://localhost:11434/v1."]);
  const key = keyEnv === undefined ? undefined : process.env[keyEnv];
  if (keyEnv !== undefined && !key) throw new CliError(`The environment variable ${keyEnv} is not set`);
  return createOpenAiSummarizer({ model, url: new URL(url), ...(key && { key }) });
}

function checkPlaces(path: string, { write, out }: CompactFlags, isDryRun: boolean): void {
  if (write && out !== undefined) throw new CliError("--write and --out name two places", ["Choose one."]);
  if (write && path === "-") throw new CliError("Standard input cannot be written to", ["Use --out <file>."]);
  if (isDryRun && (write || out !== undefined))
    throw new CliError("There is nothing to write: without a model this only shows what would be done", [
      "Add --model and --url, or --fold to sum up without a model.",
    ]);
}

/** A file that is not there is reported by whoever reads it. */
async function fileVersionOf(path: string): ReturnType<typeof fileVersion> {
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
async function compactedContent(file: InputFile, outcome: Compacted): Promise<string | Uint8Array> {
  const wire = formatOf(file.format).apply(file.wire, outcome.edits, { at: Date.now() });
  const text = transcriptText({ form: file.form, wire });
  const again = await readTranscript(Buffer.from(text));
  const holdsSummary = again.transcript.some(({ parts }) =>
    parts.some((part) => part.type === "text" && part.text.includes(outcome.summary)),
  );
  if (again.format !== file.format || !holdsSummary)
    throw new Error(`The compacted ${file.format} session could not be read back; nothing was changed`);
  return file.packing === "gzip" ? gzipSync(text) : text;
}

interface Place {
  readonly version: Awaited<ReturnType<typeof fileVersion>> | undefined;
  readonly out: string | undefined;
}

interface Written {
  readonly written: string;
  readonly backup?: string;
}

async function put(content: string | Uint8Array, { version, out }: Place): Promise<Written | undefined> {
  if (version !== undefined) return { backup: await replaceFile(version, content), written: version.path };
  if (out === undefined) return undefined;
  await writeWhole(out, content, { mode: 0o600 });
  return { written: out };
}
