import { plural } from "../../text/format-number.ts";
import {
  currentRun,
  type EndedRun,
  type ForkRecord,
  type ForkRun,
  isLive,
  type LiveRun,
  workedMs,
} from "./record.ts";
import { quoteChild } from "./report.ts";

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
    ...costText(record),
    record.inherited.mode,
  ];
  if (run.undone !== undefined) facts.push("asked for in a message that was undone");
  return `#${record.number} ${quoteChild(record.title, 60) || "untitled"} · ${facts.join(" · ")}`;
}

/** What a fork cost; nothing where no price is known. */
export function costText({ spent }: ForkRecord): readonly string[] {
  return spent.costUSD > 0 ? [`$${spent.costUSD.toFixed(2)}`] : [];
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
