import { tokensOf } from "../../../agents/opencode/read-facts.ts";
import { opencode2 } from "../../../formats/files/opencode2/opencode2.ts";
import { tokenFamilyOf } from "../../../models/token-family.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { formatNumber, plural } from "../../../text/format-number.ts";
import { asNumber, asObject } from "../../../text/unknown-value.ts";
import { estimateMessageTokens, estimateResultTokens } from "../../../transcript/estimate-message.ts";
import type { Transcript } from "../../../transcript/message.ts";
import type { LeftContent } from "./what-left.ts";

/** How full a session's window is, by the newest usage that the provider reported since the last compaction. */
export function windowFill(messages: readonly unknown[], models: readonly unknown[]): WindowFill | undefined {
  const all = messages.map(asObject);
  const compacted = all.findLastIndex(
    ({ type, status }) => type === "compaction" && (status === undefined || status === "completed"),
  );
  const answer = all.findLast(
    ({ type, tokens }, index) => type === "assistant" && tokens !== undefined && index > compacted,
  );
  if (answer === undefined) return undefined;
  const tokens = tokensOf(answer.tokens);
  if (tokens <= 0) return undefined;
  const { id, providerID } = asObject(answer.model);
  const model = models.map(asObject).find((each) => each.id === id && each.providerID === providerID);
  const limitTokens = asNumber(asObject(model?.limit).context);
  return { tokens, ...(limitTokens !== undefined && limitTokens > 0 && { limitTokens }) };
}

export interface WindowFill {
  readonly tokens: number;
  /** How many the model takes, where that is known. */
  readonly limitTokens?: number;
}

/** One line: what was saved, and how many forks run; empty where there is nothing to say. How full the window is OpenCode says beside it. */
export function statusLine({ left, running }: Status): string {
  const saved = left.reduce((sum, { tokens }) => sum + tokens, 0);
  return [saved > 0 ? `${shortCount(saved)} saved` : "", running > 0 ? plural(running, "fork") : ""]
    .filter((fact) => fact !== "")
    .join(" · ");
}

interface Status {
  readonly left: readonly LeftContent[];
  /** Forks at work. */
  readonly running: number;
}

/** A count in at most four characters: 940, 3.8k, 41k, 1.2M. */
export function shortCount(count: number): string {
  if (count < 1_000) return String(Math.round(count));
  if (count < 9_950) return `${(count / 1_000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1_000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** What fills a session's window, and what left it and why, in lines for a person. */
export function contextReport({ messages, fill, left }: ReportSources): string {
  const transcript = opencode2.decode(messages);
  const pruned = left.reduce((sum, { tokens, isStored }) => sum + (isStored ? tokens : 0), 0);
  const window = filterCompacted(transcript);
  const kinds = scaled(windowKinds(window, pruned), roomOf(window, fill));
  const known = sumOf(kinds);
  const rest = fill === undefined ? 0 : Math.max(0, fill.tokens - known);
  const total = Math.max(1, known + rest);
  const rows = [...kinds, { name: "instructions and tool definitions", tokens: rest }].filter(
    ({ tokens }) => tokens > 0,
  );
  const compactions = transcript.filter(({ summary, error }) => summary && error === undefined).length;
  const gone = [
    ...left.map(({ why, count, tokens }) => row(tokens, `${why} (${count})`)),
    ...(compactions > 0 ? [`${"".padStart(COUNT_CHARS)}  ${plural(compactions, "compaction")}`] : []),
  ];
  return [
    headline(fill),
    "",
    "What fills it",
    ...rows
      .toSorted((one, other) => other.tokens - one.tokens)
      .map(({ name, tokens }) => row(tokens, `${name}, ${Math.round((100 * tokens) / total)}%`)),
    "",
    "What left it, and why",
    ...(gone.length > 0 ? gone : ["  nothing so far"]),
    ...(left.length > 0 ? ["", "The agent reads what left again with recall."] : []),
  ].join("\n");
}

const sumOf = (kinds: readonly WindowKind[]): number => kinds.reduce((sum, { tokens }) => sum + tokens, 0);

/** What the provider has counted decides: estimates that are too high are taken down to what has room. */
function scaled(kinds: readonly WindowKind[], roomTokens: number): readonly WindowKind[] {
  const known = sumOf(kinds);
  if (known <= roomTokens) return kinds;
  return kinds.map(({ name, tokens }) => ({ name, tokens: Math.round((tokens * roomTokens) / known) }));
}

/** How much of the window messages can fill: not what came before the first of them, by the first answer's usage. */
function roomOf(window: Transcript, fill: WindowFill | undefined): number {
  if (fill === undefined) return Number.POSITIVE_INFINITY;
  const first = window.findIndex(({ usage }) => usage !== undefined);
  const usage = window[first]?.usage;
  if (usage === undefined) return fill.tokens;
  const sent = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const before = sumOf(windowKinds(window.slice(0, first), 0));
  return Math.max(0, fill.tokens - Math.max(0, sent - before));
}

interface ReportSources {
  /** As OpenCode stores them. */
  readonly messages: readonly unknown[];
  readonly fill: WindowFill | undefined;
  readonly left: readonly LeftContent[];
}

function headline(fill: WindowFill | undefined): string {
  if (fill === undefined) return "No answer has come since the window was made: its size is not known yet.";
  const { tokens, limitTokens } = fill;
  const size = `${formatNumber(tokens)} tokens`;
  if (limitTokens === undefined) return `The window holds ${size}.`;
  const share = Math.round((100 * tokens) / limitTokens);
  return `The window holds ${size}: ${share}% of ${formatNumber(limitTokens)}.`;
}

const COUNT_CHARS = 6;

const row = (tokens: number, text: string): string => `${shortCount(tokens).padStart(COUNT_CHARS)}  ${text}`;

/** The sizes of a window by who wrote what, estimated. */
function windowKinds(window: Transcript, pruned: number): readonly WindowKind[] {
  const model = window.findLast((message) => message.model !== undefined)?.model;
  const options = {
    estimator: "calibrated",
    ...(model !== undefined && { family: tokenFamilyOf({ id: model.id }) }),
  } as const;
  const sums = { output: 0, answer: 0, user: 0, summary: 0 };
  for (const message of window) {
    const results = estimateResultTokens(message, options);
    const written = estimateMessageTokens(message, options) - results;
    sums.output += results;
    sums[message.summary ? "summary" : message.role === "assistant" ? "answer" : "user"] += written;
  }
  return [
    { name: "tool outputs", tokens: Math.max(0, sums.output - pruned) },
    { name: "answers and calls", tokens: sums.answer },
    { name: "your messages", tokens: sums.user },
    { name: "summaries", tokens: sums.summary },
  ];
}

interface WindowKind {
  readonly name: string;
  readonly tokens: number;
}
