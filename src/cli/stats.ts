import { isMainThread } from "node:worker_threads";
import { Command } from "commander";
import { errorMessage } from "../text/failure.ts";
import { formatNumber } from "../text/format-number.ts";
import { groupBy } from "../text/group-by.ts";
import { findTranscriptFiles } from "./files/find-files.ts";
import { readInput } from "./files/read-input.ts";
import { createFileProgress, measureFiles, serveThread } from "./files/thread-pool.ts";
import {
  profileSession,
  type SecretCount,
  type SessionProfile,
  sortDescending,
  sumOf,
  type ToolProfile,
} from "./inspect/profile-session.ts";
import { type FolderFlags, withFolderOptions } from "./terminal/arguments.ts";
import { CliError, interrupted, withInterrupt } from "./terminal/cli-error.ts";
import {
  type Colors,
  colorsFor,
  formatCount,
  formatPercent,
  terminalPath,
  terminalText,
} from "./terminal/output.ts";
import { printJson } from "./terminal/print-json.ts";
import { renderSection } from "./terminal/table.ts";

/** `carryover stats`: totals, percentiles and the worst offenders of a folder of sessions. */
export function statsCommand(): Command {
  return withFolderOptions(new Command("stats"))
    .description("sum up all sessions in a folder: totals, percentiles, worst offenders")
    .argument(
      "[paths...]",
      "folders or files, the current folder without any; any format that is known, also packed (.gz, .zst)",
    )
    .addHelpText("after", EXAMPLES)
    .action(runStats);
}

const EXAMPLES = `
Examples:
  carryover stats ~/.claude/projects
  carryover stats ~/.codex/sessions ~/.pi/agent/sessions --top 20
  carryover stats sessions/ --json | jq '.percentiles.windowTokens'

Ctrl-C ends it and shows what was measured until then (exit code 130). Nothing is written.`;

async function runStats(paths: readonly string[], { json, top, jobs, worker }: FolderFlags): Promise<void> {
  if (worker && !isMainThread) return serveThread(fileStats);
  const roots = paths.length === 0 ? ["."] : paths;
  const files = await findTranscriptFiles(roots);
  const progress = createFileProgress(process.stderr, files.length);
  const { outcomes, isStopped } = await withInterrupt(async (signal) => {
    const measured = await measureFiles({
      files,
      threads: jobs,
      createMeasure: () => fileStats,
      argv: ["stats", "--worker"],
      onOutcome: (done) => progress.step(done),
      signal,
    }).finally(() => progress.end());
    return { outcomes: measured.filter((outcome) => outcome !== undefined), isStopped: signal.aborted };
  });
  const stats = folderStats(outcomes, top);
  if (json) printJson(stats);
  else if (stats.files.read > 0) {
    const folder = (roots[0] ?? ".").replace(/\/+$/, "");
    process.stdout.write(`${statsReport(stats, { colors: colorsFor(process.stdout), folder, top })}\n`);
  }
  if (isStopped) throw interrupted(`Stopped after ${outcomes.length} of ${files.length} files`);
  if (stats.files.read === 0) {
    const reasons = stats.skipped.slice(0, top).map(({ reason }) => reason);
    throw new CliError("None of the files is a transcript that can be read", reasons);
  }
}

/** The profile of one file, or why it was skipped. */
type FileStats =
  | ({ readonly status: "read"; readonly path: string; readonly format: string } & SessionProfile)
  | { readonly status: "skipped"; readonly path: string; readonly reason: string };

/** Measures one file; never throws. */
async function fileStats(path: string): Promise<FileStats> {
  try {
    const { format, transcript, past } = await readInput(path, "window");
    const profile = profileSession(transcript, { top: LARGEST_PER_FILE, past });
    return { status: "read", path, format, ...profile };
  } catch (error) {
    return { status: "skipped", path, reason: errorMessage(error) };
  }
}

const LARGEST_PER_FILE = 5;

/** Sums up the profiles of a folder and picks the sessions that stand out. */
function folderStats(outcomes: readonly FileStats[], top: number) {
  const read = outcomes.filter((outcome) => outcome.status === "read");
  const skipped = outcomes.filter((outcome) => outcome.status === "skipped");
  const formats = groupBy(read, ({ format }) => format);
  return {
    files: { total: outcomes.length, read: read.length, skipped: skipped.length },
    totals: totals(read),
    byFormat: sortDescending(
      Array.from(formats, ([format, files]) => ({ format, ...totals(files) })),
      ({ tokens }) => tokens,
    ),
    /** For each measure the value that so many of 100 sessions do not exceed. */
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

function totals(files: readonly ReadFile[]) {
  return {
    sessions: files.length,
    messages: sumOf(files, ({ messages }) => messages),
    toolResults: sumOf(files, ({ toolResults }) => toolResults),
    chars: sumOf(files, ({ chars }) => chars),
    tokens: sumOf(files, ({ tokens }) => tokens),
    compactions: sumOf(files, ({ compactions }) => compactions),
  };
}

function percentiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

function sumTools(tools: readonly ToolProfile[]): readonly ToolProfile[] {
  const sums = Array.from(
    groupBy(tools, ({ tool }) => tool),
    ([tool, group]) => ({
      tool,
      calls: sumOf(group, ({ calls }) => calls),
      failed: sumOf(group, ({ failed }) => failed),
      chars: sumOf(group, ({ chars }) => chars),
      tokens: sumOf(group, ({ tokens }) => tokens),
    }),
  );
  return sortDescending(sums, ({ tokens }) => tokens);
}

function sumSecrets(secrets: readonly SecretCount[]): readonly SecretCount[] {
  const sums = Array.from(
    groupBy(secrets, ({ type }) => type),
    ([type, group]) => ({ type, count: sumOf(group, ({ count }) => count) }),
  );
  return sortDescending(sums, ({ count }) => count);
}

function worstOf(files: readonly ReadFile[], top: number) {
  const windows = files.map(({ path, window }) => ({ path, tokens: window.tokens }));
  const items = files.flatMap(({ path, largest }) => largest.map((item) => ({ file: path, ...item })));
  const outdated = files
    .map(({ path, superseded }) => ({ path, ...superseded }))
    .filter(({ results }) => results > 0);
  const secrets = files
    .map(({ path, secrets }) => ({ path, count: sumOf(secrets, ({ count }) => count) }))
    .filter(({ count }) => count > 0);
  return {
    largestWindows: sortDescending(windows, ({ tokens }) => tokens).slice(0, top),
    largestItems: sortDescending(items, ({ tokens }) => tokens).slice(0, top),
    outdated: sortDescending(outdated, ({ chars }) => chars).slice(0, top),
    secrets: sortDescending(secrets, ({ count }) => count).slice(0, top),
  };
}

interface StatsReportOptions {
  readonly colors: Colors;
  /** Left out at the beginning of every path. */
  readonly folder: string;
  readonly top: number;
}

/** The statistics for the terminal. */
function statsReport(
  stats: ReturnType<typeof folderStats>,
  { colors, folder, top }: StatsReportOptions,
): string {
  const { totals, worst } = stats;
  const path = (name: string): string =>
    terminalPath(name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name, MAX_PATH_CHARS);
  const section = (name: string, rows: readonly (readonly string[])[]): readonly string[] =>
    renderSection(colors.bold(name), rows, process.stdout);
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
      ...Object.entries(stats.percentiles).map(([measure, { p50, p90, p99, max }]) => [
        MEASURE_NAMES[measure] ?? measure,
        ...[p50, p90, p99, max].map(formatNumber),
      ]),
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
      "Outdated results",
      worst.outdated.map(({ path: file, results, chars }) => [
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

const MEASURE_NAMES: Readonly<Record<string, string>> = {
  toolResults: "tool results",
  chars: "characters",
  windowTokens: "tokens in the window",
};
