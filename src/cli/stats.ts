import { availableParallelism } from "node:os";
import { isMainThread } from "node:worker_threads";
import { Command, Option } from "commander";
import { groupBy } from "../text/json.ts";
import { findTranscriptFiles } from "./files/find-files.ts";
import { readInput } from "./files/read-input.ts";
import { createFileProgress, runThreadPool, serveThread } from "./files/thread-pool.ts";
import {
  type LargeItem,
  profileSession,
  type SecretCount,
  type SessionProfile,
  type ToolProfile,
} from "./inspect/profile-session.ts";
import { CliError, EXIT_CODES, parseCount } from "./terminal/cli-error.ts";
import {
  type Colors,
  colorsFor,
  formatCount,
  formatNumber,
  formatPercent,
  renderTable,
  terminalPath,
  terminalText,
} from "./terminal/output.ts";

/** `carryover stats`: totals, percentiles and the worst offenders of a folder of sessions. */
export function statsCommand(): Command {
  return new Command("stats")
    .description("sum up all sessions in a folder: totals, percentiles, worst offenders")
    .argument("[paths...]", "folders or files; any format that is known, also gzipped")
    .option("--json", "print for a program to read")
    .option("--top <n>", "how many are listed", parseCount, 5)
    .option("--jobs <n>", "threads", parseCount, availableParallelism())
    .addOption(new Option("--worker").hideHelp())
    .addHelpText("after", EXAMPLES)
    .action(runStats);
}

const EXAMPLES = `
Examples:
  carryover stats ~/.claude/projects
  carryover stats ~/.codex/sessions ~/.pi/agent/sessions --top 20
  carryover stats sessions/ --json | jq '.percentiles.windowTokens'

Ctrl-C ends it and shows what was measured until then (exit code 130). Nothing is written.`;

interface StatsFlags {
  readonly json?: true;
  readonly top: number;
  readonly jobs: number;
  readonly worker?: true;
}

async function runStats(paths: readonly string[], { json, top, jobs, worker }: StatsFlags): Promise<void> {
  if (worker && !isMainThread) return serveThread(fileStats);
  const roots = paths.length === 0 ? ["."] : paths;
  const files = await findTranscriptFiles(roots);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop);
  const outcomes = await measureFiles(files, { jobs, signal: stopping.signal }).finally(() =>
    process.off("SIGINT", stop),
  );
  const stats = folderStats(outcomes, { top });
  if (stats.files.read > 0 || json) print(stats, { json, top, folder: roots[0] ?? "." });
  if (stopping.signal.aborted)
    throw new CliError(`Stopped after ${outcomes.length} of ${files.length} files`, [], {
      exitCode: EXIT_CODES.stopped,
    });
  if (stats.files.read === 0) {
    const reasons = stats.skipped.slice(0, top).map(({ reason }) => reason);
    throw new CliError("None of the files is a transcript that can be read", reasons);
  }
}

interface Measuring {
  readonly jobs: number;
  readonly signal: AbortSignal;
}

/** What became of each file, in the order of the files; those that were not reached are left out. */
async function measureFiles(
  files: readonly string[],
  { jobs, signal }: Measuring,
): Promise<readonly FileStats[]> {
  const outcomes = new Map<string, FileStats>();
  const progress = createFileProgress(process.stderr, files.length);
  const keep = (path: string, outcome: FileStats): void => {
    outcomes.set(path, outcome);
    progress.step(outcomes.size);
  };
  try {
    if (jobs <= 1 || files.length === 1) {
      for (const path of files) {
        if (signal.aborted) break;
        keep(path, await fileStats(path));
      }
    } else {
      await runThreadPool({
        items: files,
        threads: jobs,
        argv: ["stats", "--worker"],
        onAnswer: keep,
        signal,
      });
    }
  } finally {
    progress.end();
  }
  return files.map((path) => outcomes.get(path)).filter((outcome) => outcome !== undefined);
}

interface Printing {
  readonly json: true | undefined;
  readonly top: number;
  readonly folder: string;
}

function print(stats: FolderStats, { json, top, folder }: Printing): void {
  const text = json
    ? JSON.stringify(stats, null, 2)
    : statsReport(stats, { colors: colorsFor(process.stdout), folder: folder.replace(/\/+$/, ""), top });
  process.stdout.write(`${text}\n`);
}

/** What became of one file of a folder. */
type FileStats =
  | ({ readonly status: "read"; readonly path: string; readonly format: string } & SessionProfile)
  | { readonly status: "skipped"; readonly path: string; readonly reason: string };

/** Measures one file; one that cannot be read is skipped, never fatal. */
async function fileStats(path: string): Promise<FileStats> {
  try {
    const { format, transcript } = await readInput(path, "live");
    const profile = profileSession(transcript, { top: LARGEST_PER_FILE });
    return { status: "read", path, format, ...profile };
  } catch (error) {
    return { status: "skipped", path, reason: (error as Error).message };
  }
}

const LARGEST_PER_FILE = 5;

/** What a folder of sessions holds, and which of them stand out. */
interface FolderStats {
  readonly files: { readonly total: number; readonly read: number; readonly skipped: number };
  readonly totals: Totals;
  readonly byFormat: readonly (Totals & { readonly format: string })[];
  /** By what is measured: the value that so many of 100 sessions do not exceed. */
  readonly percentiles: Readonly<Record<Measure, Percentiles>>;
  readonly byTool: readonly ToolProfile[];
  readonly secrets: readonly SecretCount[];
  readonly worst: Worst;
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

interface Totals {
  readonly sessions: number;
  readonly messages: number;
  readonly toolResults: number;
  readonly chars: number;
  readonly tokens: number;
  readonly compactions: number;
}

const MEASURES = ["messages", "toolResults", "chars", "tokens", "windowTokens"] as const;
type Measure = (typeof MEASURES)[number];

interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

interface Worst {
  readonly largestWindows: readonly { readonly path: string; readonly tokens: number }[];
  readonly largestItems: readonly (LargeItem & { readonly file: string })[];
  readonly needless: readonly { readonly path: string; readonly results: number; readonly chars: number }[];
  readonly secrets: readonly { readonly path: string; readonly count: number }[];
}

/** Sums up what was measured file by file. */
function folderStats(outcomes: readonly FileStats[], { top }: { readonly top: number }): FolderStats {
  const read = outcomes.filter((outcome) => outcome.status === "read");
  const skipped = outcomes.filter((outcome) => outcome.status === "skipped");
  const formats = groupBy(read, ({ format }) => format);
  return {
    files: { total: outcomes.length, read: read.length, skipped: skipped.length },
    totals: totals(read),
    byFormat: Array.from(formats, ([format, files]) => ({ format, ...totals(files) })).sort(
      (a, b) => b.tokens - a.tokens,
    ),
    percentiles: {
      messages: percentiles(read.map(({ messages }) => messages)),
      toolResults: percentiles(read.map(({ toolResults }) => toolResults)),
      chars: percentiles(read.map(({ chars }) => chars)),
      tokens: percentiles(read.map(({ tokens }) => tokens)),
      windowTokens: percentiles(read.map(({ window }) => window.tokens)),
    },
    byTool: sumTools(read.flatMap(({ byTool }) => byTool)).slice(0, top),
    secrets: sumSecrets(read.flatMap(({ secrets }) => secrets)),
    worst: worstOf(read, top),
    skipped: skipped.map(({ path, reason }) => ({ path, reason })),
  };
}

type ReadFile = Extract<FileStats, { status: "read" }>;

function totals(files: readonly ReadFile[]): Totals {
  const sum = (of: (file: ReadFile) => number): number => files.reduce((all, file) => all + of(file), 0);
  return {
    sessions: files.length,
    messages: sum(({ messages }) => messages),
    toolResults: sum(({ toolResults }) => toolResults),
    chars: sum(({ chars }) => chars),
    tokens: sum(({ tokens }) => tokens),
    compactions: sum(({ compactions }) => compactions),
  };
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

function sumTools(tools: readonly ToolProfile[]): readonly ToolProfile[] {
  const groups = groupBy(tools, ({ tool }) => tool);
  const sum = (group: readonly ToolProfile[], of: Exclude<keyof ToolProfile, "tool">): number =>
    group.reduce((all, each) => all + each[of], 0);
  return Array.from(groups, ([tool, group]) => ({
    tool,
    calls: sum(group, "calls"),
    failed: sum(group, "failed"),
    chars: sum(group, "chars"),
    tokens: sum(group, "tokens"),
  })).sort((a, b) => b.tokens - a.tokens);
}

function sumSecrets(secrets: readonly SecretCount[]): readonly SecretCount[] {
  const groups = groupBy(secrets, ({ type }) => type);
  return Array.from(groups, ([type, group]) => ({ type, count: countIn(group) })).sort(
    (a, b) => b.count - a.count,
  );
}

function countIn(secrets: readonly SecretCount[]): number {
  return secrets.reduce((sum, { count }) => sum + count, 0);
}

function worstOf(files: readonly ReadFile[], top: number): Worst {
  return {
    largestWindows: files
      .map(({ path, window }) => ({ path, tokens: window.tokens }))
      .sort((a, b) => b.tokens - a.tokens)
      .slice(0, top),
    largestItems: files
      .flatMap(({ path, largest }) => largest.map((item) => ({ file: path, ...item })))
      .sort((a, b) => b.tokens - a.tokens)
      .slice(0, top),
    needless: files
      .map(({ path, superseded }) => ({ path, ...superseded }))
      .filter(({ results }) => results > 0)
      .sort((a, b) => b.chars - a.chars)
      .slice(0, top),
    secrets: files
      .map(({ path, secrets }) => ({ path, count: countIn(secrets) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count)
      .slice(0, top),
  };
}

interface StatsReportOptions {
  readonly colors: Colors;
  /** What stands before every path and need not be said each time. */
  readonly folder: string;
  readonly top: number;
}

/** The figures of a folder, for a person to read. */
function statsReport(stats: FolderStats, { colors, folder, top }: StatsReportOptions): string {
  const { totals, worst } = stats;
  const path = (name: string): string =>
    terminalPath(name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name, MAX_PATH_CHARS);
  const section = (name: string, rows: readonly (readonly string[])[]): readonly string[] =>
    rows.length === 0 ? [] : ["", colors.bold(name), renderTable(rows)];
  return [
    colors.bold(
      `${formatCount(stats.files.read, "session")} in ${formatCount(stats.files.total, "file")}, ${formatCount(totals.messages, "message")}, ${formatCount(totals.toolResults, "tool result")}, about ${formatCount(totals.tokens, "token")}`,
    ),
    ...section("By format", [
      ["", "sessions", "messages", "tool results", "characters", "tokens", "compactions"],
      ...stats.byFormat.map((row) => [
        row.format,
        ...[row.sessions, row.messages, row.toolResults, row.chars, row.tokens, row.compactions].map(
          formatNumber,
        ),
      ]),
    ]),
    ...section("Of 100 sessions", [
      ["", "50 have at most", "90", "99", "all"],
      ...MEASURES.map((measure) => {
        const { p50, p90, p99, max } = stats.percentiles[measure];
        return [NAMES[measure], ...[p50, p90, p99, max].map(formatNumber)];
      }),
    ]),
    ...section(
      "By tool, in the windows",
      stats.byTool.map(({ tool, calls, failed, chars, tokens }) => [
        terminalText(tool, MAX_NAME_CHARS),
        `${formatNumber(tokens)} tokens`,
        `${formatNumber(chars)} chars`,
        formatCount(calls, "call"),
        failed > 0 ? `${formatPercent(failed, calls)} failed` : "",
      ]),
    ),
    ...section(
      "Largest windows",
      worst.largestWindows.map(({ path: file, tokens }) => [path(file), `${formatNumber(tokens)} tokens`]),
    ),
    ...section(
      "Largest items",
      worst.largestItems.map((item) => [
        [item.kind, item.tool && terminalText(item.tool, MAX_NAME_CHARS)].filter(Boolean).join(" · "),
        `${formatNumber(item.chars)} chars`,
        path(item.file),
        colors.dim(terminalText(item.handle, MAX_PATH_CHARS)),
      ]),
    ),
    ...section(
      "Results that something newer made needless",
      worst.needless.map(({ path: file, results, chars }) => [
        path(file),
        formatCount(results, "result"),
        `${formatNumber(chars)} chars`,
      ]),
    ),
    ...section(
      "Secrets",
      stats.secrets.map(({ type, count }) => [type, formatNumber(count)]),
    ),
    ...section(
      "Files with secrets",
      worst.secrets.map(({ path: file, count }) => [path(file), formatNumber(count)]),
    ),
    ...section(
      "Skipped",
      stats.skipped
        .slice(0, top)
        .map(({ path: file, reason }) => [
          path(file),
          terminalText(reason.replace(file, ""), MAX_REASON_CHARS),
        ]),
    ),
    ...(stats.skipped.length > top ? [`  and ${formatNumber(stats.skipped.length - top)} more`] : []),
  ].join("\n");
}

const MAX_PATH_CHARS = 60;
const MAX_NAME_CHARS = 30;
const MAX_REASON_CHARS = 100;

const NAMES: Readonly<Record<Measure, string>> = {
  messages: "messages",
  toolResults: "tool results",
  chars: "characters",
  tokens: "tokens",
  windowTokens: "tokens in the window",
};
