import { plural } from "../../text/display.ts";
import { FENCED_TAGS, fenceData } from "../../text/fence.ts";
import { normalizeText } from "../../text/normalize.ts";
import { FORK_HEAD_RATIO, headCut, tailCut, truncate, truncationMarker } from "../../text/truncate.ts";
import {
  currentRun,
  type EndedRun,
  type ForkRecord,
  type ForkRun,
  isLive,
  type LiveRun,
  workedMs,
} from "./record.ts";

/** What a record keeps of a child's report; the whole is in the child's session. */
interface KeptReport {
  /** Normalized; both ends of a long one. */
  readonly text: string;
  /** The length of the whole where only its ends are kept. */
  readonly textChars?: number;
}

export function keepReport(text: string): KeptReport {
  const whole = normalizeText(text).trim();
  const kept = truncate(whole, { limitChars: MAX_KEPT_CHARS, method: "head-tail" });
  return { text: kept.text, ...(kept.cut !== undefined && { textChars: whole.length }) };
}

const MAX_KEPT_CHARS = 32_000;

/** The whole of a report, found among what its child wrote; undefined when it is not there any more. */
export function findReport({ text, textChars }: KeptReport, written: readonly string[]): string | undefined {
  if (textChars === undefined) return text;
  return written
    .map((each) => normalizeText(each).trim())
    .findLast((each) => each.length === textChars && keepReport(each).text === text);
}

/** A report as it is quoted to the parent: escaped and bounded, with what is missing counted in characters of the whole. */
export function quoteReport({ text, textChars }: KeptReport, maxChars: number): QuotedReport {
  const totalChars = textChars ?? text.length;
  const quoted = quoteChild(text, Number.POSITIVE_INFINITY);
  if (textChars === undefined && quoted.length <= maxChars) return { text: quoted };
  let limitChars = Math.max(0, maxChars - MARKER_CHARS);
  for (let attempt = 1; ; attempt++) {
    const headChars = Math.floor(limitChars * FORK_HEAD_RATIO);
    const headEnd = headCut(text, headChars);
    const tailStart = tailCut(text, text.length - (limitChars - headChars));
    const shownChars = headEnd + text.length - tailStart;
    const marker = truncationMarker(totalChars - shownChars, "head-tail");
    const cut = fenceData(text.slice(0, headEnd) + marker + text.slice(tailStart), TAGS);
    if (cut.length <= maxChars || attempt === ATTEMPTS)
      return {
        text: cut.slice(0, headCut(cut, maxChars)),
        cut: { shownChars, totalChars, nextChar: headEnd },
      };
    // Escapes have made it longer.
    limitChars = Math.floor((limitChars * maxChars) / (cut.length + MARKER_CHARS));
  }
}

export interface QuotedReport {
  readonly text: string;
  /** How much of it is shown, and from which character on something is missing. */
  readonly cut?: { readonly shownChars: number; readonly totalChars: number; readonly nextChar: number };
}

const ATTEMPTS = 4;
const MARKER_CHARS = 60;
const TAGS = [...FENCED_TAGS, "fork_result"];

/** A piece of a report that was kept or found, with every blank that it has. */
export function quoteRange(piece: string): string {
  return fenceData(piece, TAGS);
}

/** Text of a child as it is quoted to the parent: normalized, tags escaped, bounded. */
export function quoteChild(text: string, maxChars: number): string {
  const safe = fenceData(normalizeText(text).trim(), TAGS);
  if (safe.length <= maxChars) return safe;
  const limitChars = Math.max(0, maxChars - MARKER_CHARS);
  // What is left of a line may read like a tag or a speaker only now.
  return fenceData(truncate(safe, { limitChars, method: "head-tail" }).text, TAGS);
}

/** One line per fork, by number: title, state, tool calls, cost. */
export function forkTable(records: readonly ForkRecord[], nowMs: number): string {
  if (records.length === 0) return "No forks.";
  return byNumber(records)
    .map((record) => lineOf(record, nowMs))
    .join("\n");
}

/**
 * The list that a compaction must keep: running forks, and results that the parent has not answered; empty when there
 * are none.
 */
export function forkRoster(records: readonly ForkRecord[], nowMs: number): string {
  const wanted = records.filter((record) => currentRun(record).undone === undefined);
  const lines = byNumber(wanted).flatMap((record) => [
    ...(isLive(currentRun(record)) ? [`- ${lineOf(record, nowMs)}: its result will come by itself`] : []),
    ...record.runs.flatMap((run) => (isUnread(run) ? [unreadLine(record, run)] : [])),
  ]);
  if (lines.length === 0) return "";
  return ["Forks of this conversation. Keep every line of this list in the summary:", ...lines].join("\n");
}

const ROSTER_CHARS = 1_000;

function lineOf(record: ForkRecord, nowMs: number): string {
  const run = currentRun(record);
  const facts = [
    stateText(run, nowMs),
    plural(run.calls.total, "call"),
    `$${record.spent.costUSD.toFixed(2)}`,
    record.inherited.way,
  ];
  if (run.undone !== undefined) facts.push("asked for in a message that was undone");
  return `#${record.number} ${quoteChild(record.title, 60) || "untitled"} · ${facts.join(" · ")}`;
}

function stateText(run: ForkRun, nowMs: number): string {
  if (!isLive(run)) {
    const { state, way } = run.delivery;
    // What a tool has handed over stands in the conversation as well.
    const isThere = state === "seen" || (state === "sent" && way === "read");
    const unread = !isUnread(run) ? "" : isThere ? ", not answered yet" : ", not read yet";
    return `${run.state} after ${formatSpan(workedMs(run, nowMs))}${unread}`;
  }
  if (run.state === "queued") return `queued for ${formatSpan(nowMs - run.queuedAtMs)}`;
  const activity = run.state === "running" ? activityOf(run, nowMs) : undefined;
  const what = activity === undefined || activity === "active" ? run.state : `${run.state}, ${activity}`;
  return `${what} for ${formatSpan(workedMs(run, nowMs))}`;
}

function unreadLine(record: ForkRecord, run: EndedRun): string {
  const start = `- #${record.number} ${quoteChild(record.title, 60) || "untitled"} · ${run.state}`;
  if (run.delivery.state !== "seen") return `${start}: its result will come by itself`;
  const text = quoteChild(run.text, ROSTER_CHARS).replace(/\n+/g, " ");
  return `${start}, not answered yet (fork_result with id "${record.number}" gives all of it): ${text}`;
}

function isUnread(run: ForkRun): run is EndedRun {
  return !isLive(run) && run.delivery.state !== "acked";
}

function byNumber(records: readonly ForkRecord[]): readonly ForkRecord[] {
  return records.toSorted((a, b) => a.number - b.number);
}

/** What a live run is doing; the most urgent state wins. */
export function activityOf(run: LiveRun, nowMs: number): RunActivity {
  if (run.wrapUp !== undefined || run.stopping !== undefined) return "wrapping-up";
  if (run.asks.length > 0) return "waiting-permission";
  if (run.isRetrying === true) return "retrying";
  return nowMs - run.lastSignAtMs >= STALL_MS ? "stalled" : "active";
}

type RunActivity = "active" | "retrying" | "waiting-permission" | "stalled" | "wrapping-up";

const STALL_MS = 180_000;

/** A duration in words, such as "2 min 5 s". */
export function formatSpan(spanMs: number): string {
  const totalS = Math.max(0, Math.round(spanMs / 1_000));
  if (totalS < 60) return `${totalS} s`;
  const totalMin = Math.floor(totalS / 60);
  if (totalMin < 60) return totalS % 60 === 0 ? `${totalMin} min` : `${totalMin} min ${totalS % 60} s`;
  return `${Math.floor(totalMin / 60)} h ${totalMin % 60} min`;
}
