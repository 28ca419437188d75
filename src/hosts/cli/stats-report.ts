import type { Colors } from "./colors.ts";
import { type FolderStats, MEASURES, type Measure } from "./folder-stats.ts";
import { renderTable } from "./render-table.ts";
import { counted, shownNumber, shownPath, shownShare, shownText } from "./shown-text.ts";

export interface StatsReportOptions {
  readonly colors: Colors;
  /** What stands before every path and need not be said each time. */
  readonly folder: string;
  readonly top: number;
}

/** The figures of a folder, for a person to read. */
export function statsReport(stats: FolderStats, { colors, folder, top }: StatsReportOptions): string {
  const { totals, worst } = stats;
  const path = (name: string): string =>
    shownPath(name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name, MAX_PATH_CHARS);
  const section = (name: string, rows: readonly (readonly string[])[]): readonly string[] =>
    rows.length === 0 ? [] : ["", colors.bold(name), renderTable(rows)];
  return [
    colors.bold(
      `${counted(stats.files.read, "session")} in ${counted(stats.files.total, "file")}, ${counted(totals.messages, "message")}, ${counted(totals.toolResults, "tool result")}, about ${counted(totals.tokens, "token")}`,
    ),
    ...section("By format", [
      ["", "sessions", "messages", "tool results", "characters", "tokens", "compactions"],
      ...stats.byFormat.map((row) => [
        row.format,
        ...[row.sessions, row.messages, row.toolResults, row.chars, row.tokens, row.compactions].map(
          shownNumber,
        ),
      ]),
    ]),
    ...section("Of 100 sessions", [
      ["", "50 have at most", "90", "99", "all"],
      ...MEASURES.map((measure) => {
        const { p50, p90, p99, max } = stats.percentiles[measure];
        return [NAMES[measure], ...[p50, p90, p99, max].map(shownNumber)];
      }),
    ]),
    ...section(
      "By tool, in the windows",
      stats.byTool.map(({ tool, calls, failed, chars, tokens }) => [
        shownText(tool, MAX_NAME_CHARS),
        `${shownNumber(tokens)} tokens`,
        `${shownNumber(chars)} chars`,
        counted(calls, "call"),
        failed > 0 ? `${shownShare(failed, calls)} failed` : "",
      ]),
    ),
    ...section(
      "Largest windows",
      worst.largestWindows.map(({ path: file, tokens }) => [path(file), `${shownNumber(tokens)} tokens`]),
    ),
    ...section(
      "Largest items",
      worst.largestItems.map((item) => [
        [item.kind, item.tool && shownText(item.tool, MAX_NAME_CHARS)].filter(Boolean).join(" · "),
        `${shownNumber(item.chars)} chars`,
        path(item.file),
        colors.dim(shownText(item.handle, MAX_PATH_CHARS)),
      ]),
    ),
    ...section(
      "Results that something newer made needless",
      worst.needless.map(({ path: file, results, chars }) => [
        path(file),
        counted(results, "result"),
        `${shownNumber(chars)} chars`,
      ]),
    ),
    ...section(
      "Secrets",
      stats.secrets.map(({ type, count }) => [type, shownNumber(count)]),
    ),
    ...section(
      "Files with secrets",
      worst.secrets.map(({ path: file, count }) => [path(file), shownNumber(count)]),
    ),
    ...section(
      "Skipped",
      stats.skipped
        .slice(0, top)
        .map(({ path: file, reason }) => [path(file), shownText(reason.replace(file, ""), MAX_REASON_CHARS)]),
    ),
    ...(stats.skipped.length > top ? [`  and ${shownNumber(stats.skipped.length - top)} more`] : []),
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
