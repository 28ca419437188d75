import { activityOf } from "./activity-of.ts";
import { currentRun, type EndedRun, type ForkRecord, type ForkRun, isLive } from "./fork-record.ts";
import { spanText } from "./fork-texts.ts";
import { quoteChild } from "./result-notice.ts";

/** One line a fork, by number: what it is, how it is, what it used. */
export function forkTable(records: readonly ForkRecord[], nowMs: number): string {
  if (records.length === 0) return "No forks.";
  return byNumber(records)
    .map((record) => lineOf(record, nowMs))
    .join("\n");
}

/** What a compaction must carry over: forks that run, and results that the parent has not answered; empty when there are none. */
export function forkRoster(records: readonly ForkRecord[], nowMs: number): string {
  const lines = byNumber(records).flatMap((record) => [
    ...(isLive(currentRun(record)) ? [`- ${lineOf(record, nowMs)}: its result will come by itself`] : []),
    ...record.runs.flatMap((run) => (isUnread(run) ? [unreadLine(record, run)] : [])),
  ]);
  if (lines.length === 0) return "";
  return ["Forks of this conversation. Keep every line of this list in the summary:", ...lines].join("\n");
}

const ROSTER_CHARS = 1_000;

function lineOf(record: ForkRecord, nowMs: number): string {
  const run = currentRun(record);
  const calls = `${run.calls.total} ${run.calls.total === 1 ? "call" : "calls"}`;
  const facts = [stateText(run, nowMs), calls, `$${record.spent.costUSD.toFixed(2)}`, record.inherited.way];
  return `#${record.number} ${quoteChild(record.title, 60) || "untitled"} · ${facts.join(" · ")}`;
}

function stateText(run: ForkRun, nowMs: number): string {
  if (!isLive(run)) {
    const unread = isUnread(run) ? ", not read yet" : "";
    return `${run.state} after ${spanText(run.endedAtMs - (run.startedAtMs ?? run.queuedAtMs))}${unread}`;
  }
  if (run.state === "queued") return `queued for ${spanText(nowMs - run.queuedAtMs)}`;
  const activity = run.state === "running" ? activityOf(run, nowMs) : undefined;
  const what = activity === undefined || activity === "active" ? run.state : `${run.state}, ${activity}`;
  return `${what} for ${spanText(nowMs - (run.startedAtMs ?? nowMs))}`;
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
