import { homedir } from "node:os";
import { CAUSE_ADVICE, causesByCost } from "../../cost/describe-cost.ts";
import { CAUSE_NAMES, explainCost, type SessionCost } from "../../cost/explain-cost.ts";
import { readRequests } from "../../cost/read-requests.ts";
import { promptTokensOf } from "../../cost/recorded-request.ts";
import type { ModelRow } from "../../models/model-row.ts";
import { formatNumber, formatUSD } from "../../text/format-number.ts";
import { groupBy } from "../../text/group-by.ts";
import { sessionLabel } from "../files/read-input.ts";
import { windowOfFile } from "../files/read-models.ts";
import { type FoundSession, findNewestSession } from "../sessions/find-newest-session.ts";
import {
  type Colors,
  colorsFor,
  formatCount,
  formatPercent,
  terminalPath,
  terminalText,
} from "../terminal/output.ts";
import { createProgressLine } from "../terminal/progress-line.ts";
import { cutToWidth, displayWidth } from "../terminal/table.ts";
import { wrapped } from "../terminal/wrap.ts";
import { profileSession, type SessionProfile } from "./profile-session.ts";

/** Prints the newest session of this machine on one screen: its window, how it grew, what it cost, what to do next. */
export async function printOverview(given: GivenFacts): Promise<FoundSession> {
  const progress = createProgressLine();
  progress.show("reading the newest session");
  const found = await findNewestSession(process.env).finally(() => progress.end());
  const { columns = MAX_COLUMNS } = process.stdout;
  const lines = overviewLines(found, { colors: colorsFor(process.stdout), columns, ...given });
  process.stdout.write(`${lines.join("\n")}\n`);
  return found;
}

/** The default size of a terminal, less the line for the prompt. */
const MAX_COLUMNS = 80;
const MAX_ROWS = 23;

interface GivenFacts {
  readonly windowTokens?: number | undefined;
  readonly models?: readonly ModelRow[] | undefined;
}

interface OverviewOptions extends GivenFacts {
  readonly colors: Colors;
  /** How wide the terminal is; never more than 80 are used. */
  readonly columns: number;
}

/** The overview, line by line: at most 23 lines of at most 80 columns. */
export function overviewLines(found: FoundSession, options: OverviewOptions): readonly string[] {
  const { file } = found;
  const columns = Math.max(MIN_COLUMNS, Math.min(MAX_COLUMNS, options.columns));
  const screen: Screen = { ...options, columns };
  const profile = profileSession(file.transcript, { top: 1, past: file.past });
  const cost = explainCost(readRequests(file), { models: options.models });
  const limit = windowLimit(found, options);
  const lines = [
    ...head(found, profile, screen),
    "",
    ...windowLines(profile, limit, screen),
    ...timeLines(cost, screen),
    ...costLines(cost, screen),
    "",
    ...nextLines(found, cost),
  ];
  return lines.slice(0, MAX_ROWS).map((line) => cutToWidth(line, columns));
}

const MIN_COLUMNS = 40;

interface Screen extends OverviewOptions {
  readonly columns: number;
}

function head(
  { file, found, skipped, isExample }: FoundSession,
  { model }: SessionProfile,
  { columns }: Screen,
): readonly string[] {
  const short = (path: string): string =>
    path.startsWith(homedir()) ? `~${path.slice(homedir().length)}` : path;
  const [, words = found, place = ""] = /^(.*?: )(.+)$/s.exec(found) ?? [];
  const names = [sessionLabel(file, file.name), model, short(file.workingDirectory ?? "")];
  const [first = "", ...others] = skipped;
  const more = others.length > 0 ? `; ${others.length} more like that` : "";
  // The name of a file says enough here.
  const passedOver = `${first.replace(/(?:\/[^\s/]+)+\/(?=[^\s/])/g, "")}${more}`;
  return [
    `${words}${place === "" ? "" : terminalPath(short(place), Math.max(10, columns - words.length))}`,
    // Beside an example there is room for all of it.
    ...(first === ""
      ? []
      : isExample
        ? wrapped(passedOver, { isTTY: true, columns }).split("\n")
        : [passedOver]),
    names.flatMap((each) => (each ? terminalText(each, MAX_NAME_CHARS) : [])).join(" · "),
  ];
}

const MAX_NAME_CHARS = 60;

interface WindowLimit {
  readonly tokens: number;
  /** Who says so. */
  readonly note: string;
}

/** How large the window may become: as given, as Codex records it, or as is known of the model. */
function windowLimit({ file }: FoundSession, { windowTokens, models }: GivenFacts): WindowLimit {
  if (windowTokens !== undefined) return { tokens: windowTokens, note: "" };
  const { tokens, isKnown } = windowOfFile(file, models);
  return { tokens, note: isKnown ? "" : " (assumed: --window)" };
}

/** What fills the window now, as one bar with its legend. */
function windowLines(
  { window, byKind }: SessionProfile,
  limit: WindowLimit,
  { colors, columns }: Screen,
): readonly string[] {
  const kinds = kindsOf(window, byKind);
  const wholeTokens = Math.max(limit.tokens, window.tokens);
  const barColumns = columns - 2;
  const cells = kinds.map(({ tokens }) => Math.round((barColumns * tokens) / wholeTokens));
  const bar = kinds.map((_, index) => glyph(index).repeat(cells[index] ?? 0)).join("");
  const free = Math.max(0, limit.tokens - window.tokens);
  const legend = [
    ...kinds.map(
      ({ kind, tokens }, index) => `${glyph(index)} ${kind} ${formatPercent(tokens, wholeTokens)}`,
    ),
    `${FREE} free ${formatPercent(free, wholeTokens)}`,
  ];
  const counted = window.source === "usage" ? "by the provider's count" : "estimated";
  return [
    `${colors.bold("Window")}  ${formatNumber(window.tokens)} of ${formatNumber(limit.tokens)} tokens${limit.note}, ${counted}`,
    `  ${bar.slice(0, barColumns).padEnd(barColumns, FREE)}`,
    ...flow(legend, columns).slice(0, MAX_LEGEND_ROWS),
  ];
}

const GLYPHS = ["█", "▒", "▓", "░", "▚", "╱", "○", "="] as const;
const FREE = "·";
const MAX_LEGEND_ROWS = 2;

function glyph(index: number): string {
  return GLYPHS[index % GLYPHS.length] ?? FREE;
}

/** The kinds in the window, the largest first, scaled so that they and what is outside the messages are the window. */
function kindsOf(window: SessionProfile["window"], byKind: SessionProfile["byKind"]) {
  const { outsideTokens = 0 } = window;
  const messageTokens = byKind.reduce((sum, { tokens }) => sum + tokens, 0);
  const scale = messageTokens === 0 ? 0 : (window.tokens - outsideTokens) / messageTokens;
  const kinds = byKind.map(({ kind, tokens }) => ({ kind: `${kind}`, tokens: tokens * scale }));
  return [...kinds, { kind: "system and tools", tokens: outsideTokens }]
    .filter(({ tokens }) => tokens > 0)
    .sort((one, other) => other.tokens - one.tokens);
}

/** Items one after the other, as many in a line as fit. */
function flow(items: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(last) + displayWidth(item) + 3 <= columns)
      lines[lines.length - 1] = `${last}   ${item}`;
    else lines.push(`  ${item}`);
  }
  return lines;
}

/** How the window grew, request by request, with compactions and cache misses below. */
function timeLines(cost: SessionCost, { colors, columns }: Screen): readonly string[] {
  const threads = groupBy(cost.requests, ({ thread }) => thread);
  const [requests = []] = [...threads.values()].sort((one, other) => other.length - one.length);
  if (requests.length < 2) return [];
  const broken = new Map(cost.misses.map(({ request, cause }) => [request, cause]));
  const points = requests.map(({ usage, index }) => ({
    tokens: promptTokensOf(usage),
    cause: broken.get(index),
  }));
  const top = Math.max(...points.map(({ tokens }) => tokens));
  const label = shortTokens(top);
  const width = columns - LABEL_COLUMNS - 2;
  const bins = binned(points, width);
  const rows = Array.from({ length: GRAPH_ROWS }, (_, row) => {
    const cells = bins.map((bin) =>
      blockAt(Math.max(...bin.map(({ tokens }) => tokens)) / top, GRAPH_ROWS - 1 - row),
    );
    return `  ${(row === 0 ? label : "").padStart(LABEL_COLUMNS - 1)} ${cells.join("")}`.trimEnd();
  });
  const marks = bins.map((bin) =>
    bin.some(({ cause }) => cause === "compaction")
      ? "▼"
      : bin.some(({ cause }) => cause !== undefined)
        ? "!"
        : " ",
  );
  const compactions = points.filter(({ cause }) => cause === "compaction").length;
  const others = cost.misses.length - compactions;
  const legend = [
    formatCount(requests.length, "request"),
    ...(compactions > 0 ? [`▼ ${formatCount(compactions, "compaction")}`] : []),
    ...(others > 0 ? [`! cache missed ${formatCount(others, "time")}`] : []),
  ];
  return [
    "",
    `${colors.bold("Over time")}  ${legend.join(", ")}`,
    ...rows,
    ...(cost.misses.length === 0 ? [] : [`  ${" ".repeat(LABEL_COLUMNS)}${marks.join("")}`.trimEnd()]),
  ];
}

const LABEL_COLUMNS = 6;
const GRAPH_ROWS = 4;
const BLOCKS = " ▁▂▃▄▅▆▇█";

/** The character for a share of the whole height, in a row counted from below. */
function blockAt(share: number, row: number): string {
  const eighths = Math.round(share * GRAPH_ROWS * 8) - row * 8;
  return BLOCKS[Math.max(row === 0 ? 1 : 0, Math.min(8, eighths))] ?? " ";
}

/** The points in at most so many groups of neighbours. */
function binned<Point>(points: readonly Point[], width: number): readonly (readonly Point[])[] {
  const count = Math.min(width, points.length);
  return Array.from({ length: count }, (_, bin) =>
    points.slice(Math.floor((bin * points.length) / count), Math.floor(((bin + 1) * points.length) / count)),
  );
}

function shortTokens(tokens: number): string {
  if (tokens >= 1_000_000) return `${(tokens / 1_000_000).toFixed(1)}M`;
  return tokens >= 1_000 ? `${Math.round(tokens / 1_000)}k` : `${tokens}`;
}

/** What it cost, and the two most expensive causes of cache misses. */
function costLines(cost: SessionCost, { colors }: Screen): readonly string[] {
  const { totals, cacheMissCost, misses } = cost;
  if (totals.requests === 0) return [];
  const known = totals.unpriced < totals.requests;
  const total = known
    ? `${formatUSD(totals.costUSD)} for ${formatCount(totals.requests, "request")}`
    : "no price is known for this model";
  const paid = known && cacheMissCost.costUSD > 0;
  const part = paid
    ? `, ${formatUSD(cacheMissCost.costUSD)} (${formatPercent(cacheMissCost.costUSD, totals.costUSD)}) of it for cache misses`
    : "";
  return [
    "",
    `${colors.bold("Cost")}  ${total}${part}`,
    ...causesByCost(misses)
      .slice(0, 2)
      .map(({ cause, misses: times, tokens, costUSD }) => {
        const advice = CAUSE_ADVICE[cause];
        const amount = paid ? formatUSD(costUSD) : `${formatNumber(tokens)} tokens`;
        return `  ${amount} ${CAUSE_NAMES[cause]}, ${formatCount(times, "time")}${advice === undefined ? "" : `: ${advice}`}`;
      }),
  ];
}

function nextLines({ isExample, file }: FoundSession, { misses }: SessionCost): readonly string[] {
  const rows: readonly (readonly [command: string, what: string])[] = isExample
    ? [
        ["carryover install claude-code", "the plugin for Claude Code, or codex"],
        ["carryover inspect <file>", "a session that lies elsewhere"],
      ]
    : [
        ["carryover --open", "the same as a page, message by message"],
        ["carryover inspect", "what fills the window, by tool and by file"],
        ...(misses.length > 0
          ? [["carryover cost", "why the cache was missed, and what that cost"] as const]
          : []),
        [
          `carryover handoff --to ${file.format === "codex" ? "claude-code" : "codex"}`,
          "go on in another agent",
        ],
      ];
  return rows.map(([command, what]) => `  ${command.padEnd(34)} ${what}`);
}
