import { deepEqual } from "../../text/json.ts";
import { endRun, type Stop } from "./end.ts";
import { changeRun, type EventOf, type ForkAction, type ForkStep, unchanged } from "./events.ts";
import { countAttempt, type ForkLimits, isDueAgain, MAX_ATTEMPTS } from "./limits.ts";
import { addPrompt, isUnsent, LIMIT_REASON, rejectionText, sendPrompts, wrapUpText } from "./prompt.ts";
import {
  activeRun,
  currentRun,
  type ForkRecord,
  forkName,
  isLive,
  type LimitName,
  type LiveRun,
} from "./record.ts";

/** Counts a tool call of the child, and repetitions of the same call. */
export function countCall(
  record: ForkRecord,
  { callId, hash, atMs }: EventOf<"tool-called">,
  limits: ForkLimits,
): ForkStep {
  const run = activeRun(record);
  if (run === undefined || run.calls.recentIds.includes(callId)) return unchanged(record);
  const streak = run.calls.lastHash === hash ? run.calls.streak + 1 : 1;
  const recentIds = [...run.calls.recentIds, callId].slice(-MAX_RECENT_IDS);
  const calls = { total: run.calls.total + 1, streak, lastHash: hash, recentIds };
  const counted: LiveRun = { ...run, calls, lastSignAtMs: Math.max(run.lastSignAtMs, atMs) };
  if (calls.total >= limits.maxToolCalls) return wrapUp(record, counted, { limit: "tool-calls", atMs });
  if (streak >= limits.repeatLimit) return wrapUp(record, counted, { limit: "repeated-call", atMs });
  return changeRun(record, counted);
}

/** Takes the child's totals; they never go down. */
export function countSpending(record: ForkRecord, event: EventOf<"spent">, limits: ForkLimits): ForkStep {
  const spent = {
    costUSD: greater(record.spent.costUSD, event.costUSD),
    tokens: greater(record.spent.tokens, event.tokens),
    steps: greater(record.spent.steps, event.steps),
  };
  if (deepEqual(spent, record.spent)) return unchanged(record);
  const counted: ForkRecord = { ...record, spent };
  const run = activeRun(record);
  if (run === undefined || spent.costUSD < limits.forkUSD) return unchanged(counted);
  return wrapUp(counted, run, { limit: "fork-cost", atMs: event.atMs });
}

/** The budget of the root session is spent: a queued run ends, a running one is told to report. */
export function rootCostReached(record: ForkRecord, { atMs }: EventOf<"root-cost-reached">): ForkStep {
  const run = currentRun(record);
  if (!isLive(run)) return unchanged(record);
  if (run.state !== "queued") return wrapUp(record, run, { limit: "root-cost", atMs });
  const error = { kind: "limit-root-cost", message: LIMIT_REASON["root-cost"] };
  return endRun(record, run, { state: "failed", error, atMs });
}

/** Tells the child to report now; once per run. */
export function wrapUp(
  record: ForkRecord,
  run: LiveRun,
  { limit, atMs }: { readonly limit: LimitName; readonly atMs: number },
): ForkStep {
  if (run.wrapUp !== undefined || run.stopping !== undefined || run.adoption !== undefined) {
    return changeRun(record, run);
  }
  const told = addPrompt({ ...run, wrapUp: { limit, atMs } }, { kind: "wrap-up", text: wrapUpText(limit) });
  if (run.state !== "running") return changeRun(record, told);
  return sendPrompts(record, told, { atMs, chosen: isUnsent });
}

/** The end of a run that reached a limit and did not report. */
export function endOfLimit(limit: LimitName): Pick<Stop, "error"> & { readonly as: "timed-out" | "failed" } {
  return {
    as: limit === "time" ? "timed-out" : "failed",
    error: { kind: `limit-${limit}`, message: `${LIMIT_REASON[limit]} It did not report in time.` },
  };
}

/** Notes that the child waits for a permission; where nobody can answer it is rejected at once. */
export function permissionAsked(
  record: ForkRecord,
  { askId, atMs }: EventOf<"permission-asked">,
  limits: ForkLimits,
): ForkStep {
  const run = activeRun(record);
  if (run === undefined || run.asks.some((ask) => ask.askId === askId)) return unchanged(record);
  const asks = [...run.asks, { askId, askedAtMs: atMs }];
  const asked: LiveRun = { ...run, asks, lastSignAtMs: Math.max(run.lastSignAtMs, atMs) };
  if (limits.askTimeoutMs === 0) return rejectOverdue(record, asked, { atMs, limits });
  const text = `${forkName(record)} waits for a permission`;
  return changeRun(record, asked, { type: "toast", tone: "warning", text });
}

/** The permission was answered. */
export function permissionAnswered(record: ForkRecord, event: EventOf<"permission-answered">): ForkStep {
  const run = currentRun(record);
  if (!isLive(run) || !run.asks.some((ask) => ask.askId === event.askId)) return unchanged(record);
  const asks = run.asks.filter((ask) => ask.askId !== event.askId);
  return changeRun(record, { ...run, asks, lastSignAtMs: event.atMs });
}

/** Rejects permissions that nobody answered in time; one that the host does not reject either is dropped. */
export function rejectOverdue(
  record: ForkRecord,
  run: LiveRun,
  { atMs, limits }: { readonly atMs: number; readonly limits: ForkLimits },
): ForkStep {
  const actions: ForkAction[] = [];
  const asks = run.asks.flatMap((ask) => {
    if (atMs < ask.askedAtMs + limits.askTimeoutMs) return [ask];
    if (!isDueAgain(ask.rejects, atMs)) return [ask];
    if ((ask.rejects?.count ?? 0) >= MAX_ATTEMPTS) return [];
    actions.push({ type: "reject-permission", askId: ask.askId, reason: rejectionText(limits.askTimeoutMs) });
    return [{ ...ask, rejects: countAttempt(ask.rejects, atMs) }];
  });
  const isSame = actions.length === 0 && asks.length === run.asks.length;
  return changeRun(record, isSame ? run : { ...run, asks }, ...actions);
}

/** How many call ids are kept to recognise a repeated event. */
const MAX_RECENT_IDS = 8;

function greater(old: number, value: number): number {
  return Number.isFinite(value) && value > old ? value : old;
}
