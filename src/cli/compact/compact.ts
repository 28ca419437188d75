import { gzipSync } from "node:zlib";
import { Command, Option } from "commander";
import { type Compacted, type CompactOutcome, compact } from "../../compaction/compact.ts";
import type { CompactionPlan, NothingToCompact } from "../../compaction/plan/plan-compaction.ts";
import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import { overflowOfEnvironment } from "../../compaction/trigger/overflow.ts";
import { readTranscript } from "../../formats/read-transcript.ts";
import { editsOfFile, refusedThoughts } from "../../inspector/view/file-compaction-edits.ts";
import { planFileCompaction } from "../../inspector/view/plan-file-compaction.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { formatNumber } from "../../text/format-number.ts";
import { estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import { editedText } from "../files/edited-text.ts";
import { modelOfFile } from "../files/model-of-file.ts";
import { type InputFile, sessionLabel } from "../files/read-input.ts";
import { type ModelsFlag, modelsOf, windowOfFile, withModelsOption } from "../files/read-models.ts";
import { type FileVersion, fileVersion, replaceFile } from "../files/replace-file.ts";
import { FORCE_OPTION, type OutputFile, outputFile, writeOutputFile } from "../files/write-file.ts";
import { openNamedSession, SESSION_ARGUMENT, sessionPath } from "../sessions/open-session.ts";
import { parseSize } from "../terminal/arguments.ts";
import { CliError, EXIT_CODES, interrupted, withInterrupt } from "../terminal/cli-error.ts";
import { type Colors, colorsFor, formatCount, formatPercent, terminalText } from "../terminal/output.ts";
import { printJson } from "../terminal/print-json.ts";
import { createProgressLine } from "../terminal/progress-line.ts";
import { renderTable } from "../terminal/table.ts";
import { createOpenAiSummarizer } from "./openai-summarizer.ts";

/** `carryover compact`: what a compaction would do to a session, or the compaction itself. */
export function compactCommand(): Command {
  return withModelsOption(new Command("compact"))
    .description("show what a compaction would sum up, keep and clear; with a model, do it")
    .argument("<session>", SESSION_ARGUMENT)
    .option("--json", "print for a program to read")
    .option(
      "--window <tokens>",
      "the window of the model that reads the session; by default what is known of its model",
      parseSize,
    )
    .option("--keep <tokens>", "how much of the newest part stays word for word", parseSize)
    .option("--model <name>", "the model that writes the summary; needs --url")
    .option("--url <url>", "an OpenAI-compatible API, such as http://localhost:11434/v1")
    .option("--key-env <name>", "the environment variable that holds the key for it")
    .option("--local", "summarize without a model")
    .addOption(new Option("--fold").hideHelp())
    .option("--out <file>", "write the compacted session to another file")
    .option(...FORCE_OPTION)
    .option("--write", "write the compacted session into the file itself; a copy is kept beside it")
    .addHelpText("after", EXAMPLES)
    .action(runCompact);
}

const EXAMPLES = `
Examples:
  carryover compact session.jsonl
  carryover compact session.jsonl --model qwen3 --url http://localhost:11434/v1 --out compacted.jsonl
  carryover compact session.jsonl --model gpt-5-mini --url https://api.openai.com/v1 --key-env OPENAI_API_KEY --write
  carryover compact session.json --local > compacted.json

Without --model and --local nothing is done and nothing leaves the machine. With them the compacted session, in the
format of the file, goes to standard output unless --out or --write is given. Secrets are redacted before anything
is sent.`;

interface CompactFlags extends ModelsFlag {
  readonly json?: true;
  readonly window?: number;
  readonly keep?: number;
  readonly model?: string;
  readonly url?: string;
  readonly keyEnv?: string;
  readonly local?: true;
  /** As it was called before. */
  readonly fold?: true;
  readonly out?: string;
  readonly force?: true;
  readonly write?: true;
}

async function runCompact(named: string, flags: CompactFlags): Promise<void> {
  if (flags.fold) throw new CliError("--fold is now --local", ["Give --local in its place."]);
  const summarizer = readSummarizer(flags);
  const path = await sessionPath(named);
  const isDryRun = summarizer === undefined && !flags.local;
  checkOutputFlags(path, flags, isDryRun);
  const out = await outputFile("--out", flags.out, { inputs: [path], ...flags });
  const version = flags.write ? await fileVersion(path) : undefined;
  const { file } = await openNamedSession(path, { keep: isDryRun ? "window" : "all" });
  if (flags.write && file.packing === "zstd")
    throw new CliError("--write does not pack with zstd", [
      "Name a file with --out: Codex reads it plain too.",
    ]);
  const plan = planFileCompaction(file, {
    windowTokens: flags.window ?? windowOfFile(file, await modelsOf(flags)).tokens,
    keepTokens: flags.keep,
    overflow: overflowOfEnvironment(process.env),
  });
  const outcome = await executePlan(plan, summarizer, flags.model);
  const description = describeCompaction(plan, outcome, { isDryRun, file });
  const isChanged = !isDryRun && outcome.status === "compacted";
  // What is asked for is a session: where nothing is due, it is the one that was read.
  const asRead =
    isDryRun || flags.write ? undefined : editedText(file, [], { at: Date.now(), order: "of-time" });
  const text = isChanged ? await compactedText(file, plan, outcome) : asRead;
  const written = text === undefined ? undefined : await writeOutput(text, { version, out, file });
  const printed = written === undefined ? text : undefined;
  if (flags.json) return printJson({ ...description, ...written, text: printed });
  const stream = printed === undefined ? process.stdout : process.stderr;
  if (printed !== undefined) process.stdout.write(printed);
  const title = sessionLabel(file, file.name);
  stream.write(`${compactReport(description, { title, colors: colorsFor(stream), ...written })}\n`);
}

/** Executes the plan. If a model was asked for, a summary made without it is an error. */
async function executePlan(
  plan: CompactionPlan | NothingToCompact,
  summarizer: Summarizer | undefined,
  model = "",
): Promise<CompactOutcome> {
  const progress = createProgressLine();
  progress.show(summarizer === undefined ? "summing up" : `${model} writes the summary`);
  const ports = { clock: createSystemClock(), ...(summarizer && { summarizer }) };
  const outcome = await withInterrupt((signal) => compact(plan, ports, { at: Date.now(), signal })).finally(
    () => progress.end(),
  );
  if (outcome.status === "unchanged" && outcome.reason === "aborted")
    throw interrupted("Stopped; nothing was changed");
  if (summarizer !== undefined && outcome.status === "compacted" && outcome.degraded !== undefined)
    throw noUsableSummary(outcome);
  return outcome;
}

function noUsableSummary({ degraded, detail }: Compacted): CliError {
  const said = detail === undefined ? "" : ` (${terminalText(detail, MAX_DETAIL_CHARS)})`;
  return new CliError(
    `The model gave no summary that can be used: ${degraded}${said}`,
    ["Nothing was changed. Try again, name another model, or use --local to summarize without one."],
    { exitCode: EXIT_CODES.outside },
  );
}

const MAX_DETAIL_CHARS = 300;

/** The text of the compacted file, which is read back to check it before anything is written. */
async function compactedText(
  file: InputFile,
  plan: CompactionPlan | NothingToCompact,
  { edits, summary }: Compacted,
): Promise<string> {
  const { format } = file;
  const kept =
    plan.status === "planned" ? editsOfFile(edits, plan, { format, reader: modelOfFile(file) }) : edits;
  const text = editedText(file, kept, { at: Date.now(), order: "of-time" });
  const again = await readTranscript(Buffer.from(text));
  const holdsSummary = again.transcript.some(({ parts }) =>
    parts.some((part) => part.type === "text" && part.text.includes(summary)),
  );
  if (again.format !== file.format || !holdsSummary)
    throw new Error(`The compacted ${file.format} session could not be read back; nothing was changed`);
  return text;
}

interface OutputPlace {
  readonly version: FileVersion | undefined;
  readonly out: OutputFile | undefined;
  readonly file: InputFile;
}

interface Written {
  readonly written: string;
  readonly backup?: string;
}

/** Writes the session to the file itself or to `--out`, compressed as the file or as the name says. */
async function writeOutput(text: string, { version, out, file }: OutputPlace): Promise<Written | undefined> {
  if (version !== undefined) {
    const content = file.packing === "gzip" ? gzipSync(text) : text;
    return { backup: await replaceFile(version, content), written: version.path };
  }
  if (out === undefined) return undefined;
  await writeOutputFile(out, out.path.endsWith(".gz") ? gzipSync(text) : text);
  return { written: out.path };
}

/** The model that writes the summary, if one is named; throws where the flags do not fit together. */
function readSummarizer({ model, url, keyEnv, local }: CompactFlags): Summarizer | undefined {
  if (model === undefined && url === undefined) {
    if (keyEnv !== undefined) throw new CliError("--key-env is for a model", ["Add --model and --url."]);
    return undefined;
  }
  if (local) throw new CliError("--local is without a model", ["Leave out --local, or --model and --url."]);
  if (model === undefined || url === undefined)
    throw new CliError("--model and --url belong together", ["Name the model, and where its API is."]);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CliError(`${url} is no address of an API`, ["Give one such as http://localhost:11434/v1."]);
  const key = keyEnv === undefined ? undefined : process.env[keyEnv];
  if (keyEnv !== undefined && !key) throw new CliError(`The environment variable ${keyEnv} is not set`);
  return createOpenAiSummarizer({ model, url: new URL(url), ...(key && { key }) });
}

/** Throws where nothing would be written, or in two places. */
function checkOutputFlags(path: string, { write, out }: CompactFlags, isDryRun: boolean): void {
  if (write && out !== undefined) throw new CliError("--write and --out name two places", ["Choose one."]);
  if (write && path === "-") throw new CliError("Standard input cannot be written to", ["Use --out <file>."]);
  if (isDryRun && (write || out !== undefined))
    throw new CliError("There is nothing to write: without a model this only shows what would be done", [
      "Add --model and --url, or --local to sum up without a model.",
    ]);
}

/** What a compaction did or would do, as `--json` prints it. */
function describeCompaction(
  plan: CompactionPlan | NothingToCompact,
  outcome: CompactOutcome,
  { isDryRun, file }: { readonly isDryRun: boolean; readonly file: InputFile },
) {
  const { format } = file;
  const { tokensBefore } = plan;
  if (plan.status !== "planned" || outcome.status !== "compacted") {
    const reason = outcome.status === "unchanged" ? outcome.reason : "nothing-old";
    return { status: "unchanged" as const, format, reason, tokensBefore };
  }
  const changedParts = outcome.edits.filter(({ type }) => type === "hide-part" || type === "replace-part");
  const { userWords, filesRead, filesCreated = [], filesChanged, keyFacts } = plan.facts;
  return {
    status: isDryRun ? ("planned" as const) : ("compacted" as const),
    format,
    tokensBefore,
    /** Of a plan: with a local summary instead of the model's. */
    tokensAfter: outcome.tokensAfter,
    // Not what an earlier compaction has summed up.
    summarized: { messages: plan.localSummaryMaterial.messages.length, tokens: plan.replacedTokens },
    kept: { messages: plan.keptIds.length, firstId: plan.firstKeptId },
    /** Tool results in the kept part that were reduced to a line. */
    cleared: {
      results: changedParts.length,
      chars: changedParts.reduce((sum, edit) => sum + (edit.omitted?.chars ?? 0), 0),
    },
    /** Thoughts in the kept part that its model would refuse behind a summary. */
    thoughts: refusedThoughts(plan, modelOfFile(file)).length,
    /** What is carried verbatim beside the summary. */
    carried: {
      userMessages: userWords.length,
      filesRead: filesRead.length,
      // A created file counts as a changed one.
      filesChanged: filesCreated.length + filesChanged.length,
      keyFacts: keyFacts.length,
    },
    request: {
      tokens: estimateTokens(plan.request.system + plan.request.prompt, { estimator: "calibrated" }),
      omittedMessages: plan.omittedMessages,
    },
    ...(!isDryRun && {
      summary: outcome.summary,
      summaryBy: outcome.degraded === undefined ? "model" : "local",
    }),
  };
}

type CompactionDescription = ReturnType<typeof describeCompaction>;

type CompactionWork = Extract<CompactionDescription, { readonly summarized: object }>;

interface CompactReportOptions extends Partial<Written> {
  readonly title: string;
  readonly colors: Colors;
}

/** What a compaction did or would do, for the terminal. */
function compactReport(
  description: CompactionDescription,
  { title, colors, written, backup }: CompactReportOptions,
): string {
  if (description.status === "unchanged") {
    const { reason, tokensBefore } = description;
    const said = `${title}: nothing to compact, ${REASONS[reason] ?? reason} (${formatCount(tokensBefore, "token")})`;
    return written === undefined ? said : `${said}\nWritten to ${written} as it was`;
  }
  const { status, summary, summaryBy } = description;
  const copy = backup === undefined ? "" : `; the file as it was is ${backup}`;
  return [
    colors.bold(title),
    "",
    colors.bold(status === "compacted" ? "Compacted" : "A compaction would leave"),
    renderTable(rowsOf(description)),
    "",
    ...(summary === undefined
      ? ["Nothing was done. Add --model and --url, or --local, to compact."]
      : [
          colors.bold(summaryBy === "model" ? "Summary" : "Summary, made without a model"),
          ...summary.split("\n").map((line) => `  ${line}`.trimEnd()),
        ]),
    ...(written === undefined ? [] : ["", `Written to ${written}${copy}`]),
  ].join("\n");
}

function rowsOf(work: CompactionWork): readonly (readonly string[])[] {
  const { status, tokensBefore, tokensAfter, summarized, kept, cleared, thoughts, carried, request } = work;
  const isDone = status === "compacted";
  const from = kept.firstId === undefined ? "" : `, from ${terminalText(kept.firstId, MAX_ID_CHARS)}`;
  const names = `${formatCount(carried.filesRead, "file")} read, ${carried.filesChanged} changed, ${formatCount(carried.keyFacts, "exact name")}`;
  const left =
    request.omittedMessages > 0
      ? `, without ${formatCount(request.omittedMessages, "message")} for want of room`
      : "";
  const share = formatPercent(tokensAfter, tokensBefore);
  return [
    [
      "summed up",
      formatCount(summarized.messages, "message"),
      `of ${formatCount(summarized.tokens, "token")}`,
    ],
    ["kept", formatCount(kept.messages, "message"), `word for word${from}`],
    [
      "cleared",
      formatCount(cleared.results, "result"),
      `in what is kept, ${formatCount(cleared.chars, "char")}`,
    ],
    ...(thoughts === 0
      ? []
      : [
          [
            "left out",
            formatCount(thoughts, "thought"),
            "in what is kept: its model refuses them behind a summary",
          ],
        ]),
    ["carried", formatCount(carried.userMessages, "message"), `of the user, word for word; ${names}`],
    ...(isDone ? [] : [["request", formatCount(request.tokens, "token"), `to the model${left}`]]),
    [
      "window",
      formatCount(tokensAfter, "token"),
      `of ${formatNumber(tokensBefore)} (${share})${isDone ? "" : ", with a local summary"}`,
    ],
  ];
}

const MAX_ID_CHARS = 60;

const REASONS: Readonly<Record<string, string>> = {
  empty: "the session has no messages",
  "nothing-old": "everything is part of what stays",
  "too-little": "what could be summed up is less than a tenth of it",
  "no-gain": "it would save less than a tenth",
  "lost-content": "a pin or the last request would have been lost",
};
