import { deepEqual } from "../../text/deep-equal.ts";
import { LIMIT_REASON, STOPPED_TEXT, wrapUpText } from "./child-rules.ts";
import { endRun, type Stop, stopRun } from "./end.ts";
import { changeRun, type EventOf, type ForkStep, unchanged } from "./events.ts";
import type { ForkLimits } from "./limits.ts";
import { wasPromptSent } from "./prompts.ts";
import {
  activeRun,
  currentRun,
  type ForkRecord,
  type ForkRun,
  isLive,
  type LimitName,
  type LiveRun,
} from "./record.ts";

/** Counts a tool call of the child, and repetitions of the same call. At a limit it is the last one, or `refusalOf` refuses it. */
export function countCall(
  record: ForkRecord,
  { callId, hash, atMs }: EventOf<"tool-called">,
  limits: ForkLimits,
): ForkStep {
  const run = activeRun(record);
  if (run === undefined || run.calls.recentIds.includes(callId)) return unchanged(record);
  if (refusalOf(run, callId) !== undefined) return unchanged(record);
  const streak = run.calls.lastHash === hash ? run.calls.streak + 1 : 1;
  const recentIds = [...run.calls.recentIds, callId].slice(-MAX_RECENT_IDS);
  const calls = { total: run.calls.total + 1, streak, lastHash: hash, recentIds };
  const counted: LiveRun = { ...run, calls, lastSignAtMs: Math.max(run.lastSignAtMs, atMs) };
  if (calls.total >= limits.maxToolCalls) return wrapUp(record, counted, { limit: "tool-calls", atMs });
  if (streak >= limits.repeatLimit) return wrapUp(record, counted, { limit: "repeated-call", atMs });
  return changeRun(record, counted);
}

/** Why a run may not make this call, for its model to read; undefined for a call that it may make. */
export function refusalOf(run: ForkRun, callId: string): string | undefined {
  if (!isLive(run) || run.calls.recentIds.includes(callId)) return undefined;
  if (run.stopping !== undefined) return STOPPED_TEXT;
  return run.wrapUp && wrapUpText(run.wrapUp.limit);
}

/**
 * At a limit the child's next request is for its report. One more request after the answer to that is not made: the child is
 * stopped with its last text.
 */
export function requestStarted(
  record: ForkRecord,
  { answered = "", atMs }: EventOf<"request-started">,
): ForkStep {
  const run = activeRun(record);
  const { wrapUp } = run ?? {};
  if (run === undefined || wrapUp === undefined || run.stopping !== undefined) return unchanged(record);
  if (wrapUp.askedAfter === answered) return unchanged(record);
  if (wrapUp.askedAfter !== undefined) return stopRun(record, run, { ...endOfLimit(wrapUp.limit), atMs });
  return changeRun(record, { ...run, wrapUp: { ...wrapUp, askedAfter: answered } });
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

/** The budget of the root session is spent: a run that has begun may only report, another one ends. */
export function rootCostReached(record: ForkRecord, { atMs }: EventOf<"root-cost-reached">): ForkStep {
  const run = currentRun(record);
  if (!isLive(run)) return unchanged(record);
  if (run.state !== "queued" && wasPromptSent(run)) return wrapUp(record, run, { limit: "root-cost", atMs });
  const error = { kind: "limit-root-cost", message: LIMIT_REASON["root-cost"] };
  return endRun(record, run, { state: "failed", error, atMs });
}

/** From now on the child may only report: `refusalOf` refuses its calls, and its next request says so. Once per run. */
export function wrapUp(
  record: ForkRecord,
  run: LiveRun,
  { limit, atMs }: { readonly limit: LimitName; readonly atMs: number },
): ForkStep {
  if (run.wrapUp !== undefined || run.stopping !== undefined || run.adoption !== undefined) {
    return changeRun(record, run);
  }
  return changeRun(record, { ...run, wrapUp: { limit, atMs } });
}

/** The end of a run that reached a limit and did not report. */
export function endOfLimit(limit: LimitName): Pick<Stop, "error"> & { readonly as: "timed-out" | "failed" } {
  return {
    as: limit === "time" ? "timed-out" : "failed",
    error: { kind: `limit-${limit}`, message: `${LIMIT_REASON[limit]} It did not report in time.` },
  };
}

/** How many call ids are kept to recognise a repeated event. */
const MAX_RECENT_IDS = 8;

function greater(old: number, value: number): number {
  return Number.isFinite(value) && value > old ? value : old;
}
