import { deepEqual } from "../../text/deep-equal.ts";
import { LIMIT_REASON, STOPPED_TEXT, wrapUpText } from "./child-rules.ts";
import { interruptRun } from "./control.ts";
import {
  checkChildAction,
  endRun,
  endStopped,
  isOutstanding,
  rejectionText,
  type Stop,
  sendPrompts,
  stopRun,
  wasPromptSent,
  withPrompt,
} from "./end.ts";
import { changeRun, type EventOf, type ForkAction, type ForkStep, unchanged } from "./events.ts";
import {
  activeRun,
  type ChildPrompt,
  countAttempt,
  currentRun,
  type ForkLimits,
  type ForkRecord,
  type ForkRun,
  isDueAgain,
  isLive,
  isOverdue,
  type LimitName,
  type LiveRun,
  MAX_ATTEMPTS,
  WATCH_MS,
  workedMs,
} from "./record.ts";
import { createChild, isOpening, mayStart } from "./start.ts";

const MAX_ADOPTION_LOOKS = 10;

/** Everything that depends on time alone: limits, unanswered permissions, lost actions, waiting results. */
export function tick(record: ForkRecord, { atMs }: EventOf<"tick">, limits: ForkLimits): ForkStep {
  const outbox = waitingDelivery(record);
  const run = currentRun(record);
  if (!isLive(run)) return { record, actions: outbox };
  if (run.state === "queued") {
    return { record, actions: mayStart(run, atMs) ? [...outbox, { type: "fill-slots" }] : outbox };
  }
  let step = unchanged(record);
  for (const look of run.adoption === undefined ? LOOKS : [lookAgain]) {
    const now = currentRun(step.record);
    if (!isLive(now) || now.state === "queued") break;
    const next = look(step.record, now, { atMs, limits });
    step = { record: next.record, actions: [...step.actions, ...next.actions] };
  }
  return { record: step.record, actions: [...outbox, ...step.actions] };
}

interface Time {
  readonly atMs: number;
  readonly limits: ForkLimits;
}

type Look = (record: ForkRecord, run: LiveRun, time: Time) => ForkStep;

const LOOKS: readonly Look[] = [
  noticeAbsence,
  abortAgain,
  endGrace,
  endTime,
  createAgain,
  sendAgain,
  rejectOverdue,
  watch,
];

/** The run was not checked for far longer than usual: the machine was asleep, and the child did not work either. */
function noticeAbsence(record: ForkRecord, run: LiveRun, { atMs }: Time): ForkStep {
  const goneMs = atMs - run.lastWatchAtMs;
  if (goneMs <= 2 * WATCH_MS) return unchanged(record);
  const { downMs = 0, wrapUp } = run;
  return changeRun(record, {
    ...run,
    downMs: downMs + goneMs,
    lastWatchAtMs: atMs - WATCH_MS,
    ...(wrapUp && { wrapUp: { ...wrapUp, atMs: wrapUp.atMs + goneMs } }),
  });
}

/** The child of an adopted fork is checked before it gets a prompt. */
function lookAgain(record: ForkRecord, run: LiveRun, { atMs, limits }: Time): ForkStep {
  if (!isDueAgain(run.adoption, atMs)) return unchanged(record);
  const adoption = countAttempt(run.adoption, atMs);
  if (adoption.count > MAX_ADOPTION_LOOKS) return interruptRun(record, run, { atMs, limits });
  return changeRun(record, { ...run, adoption }, checkChildAction(record, run));
}

function abortAgain(record: ForkRecord, run: LiveRun, { atMs }: Time): ForkStep {
  const { stopping } = run;
  if (stopping === undefined || !isDueAgain(stopping.aborts, atMs)) return unchanged(record);
  if (stopping.aborts.count >= MAX_ATTEMPTS) return endStopped(record, { ...run, stopping }, { atMs });
  const aborts = countAttempt(stopping.aborts, atMs);
  return changeRun(
    record,
    { ...run, stopping: { ...stopping, aborts } },
    { type: "abort-child", run: run.number },
  );
}

function endGrace(record: ForkRecord, run: LiveRun, { atMs, limits }: Time): ForkStep {
  if (run.wrapUp === undefined || atMs < run.wrapUp.atMs + limits.graceMs) return unchanged(record);
  return stopRun(record, run, { ...endOfLimit(run.wrapUp.limit), atMs });
}

function endTime(record: ForkRecord, run: LiveRun, { atMs, limits }: Time): ForkStep {
  if (workedMs(run, atMs) < limits.timeoutMs) return unchanged(record);
  return wrapUp(record, run, { limit: "time", atMs });
}

function createAgain(record: ForkRecord, run: LiveRun, { atMs }: Time): ForkStep {
  if (record.childSessionId !== undefined || run.stopping !== undefined) return unchanged(record);
  if (!isDueAgain(run.creation, atMs)) return unchanged(record);
  if ((run.creation?.count ?? 0) < MAX_ATTEMPTS) return createChild(record, run, atMs);
  return stopRun(record, run, { as: "failed", error: NOT_STARTED, atMs });
}

function sendAgain(record: ForkRecord, run: LiveRun, { atMs }: Time): ForkStep {
  if (record.childSessionId === undefined || run.stopping !== undefined) return unchanged(record);
  const isDue = (prompt: ChildPrompt) =>
    isOutstanding(prompt) && prompt.attempts !== undefined && isDueAgain(prompt.attempts, atMs);
  const lost = run.prompts.find(
    (prompt) => isDue(prompt) && (prompt.attempts?.count ?? 0) >= MAX_ATTEMPTS + run.rateLimits,
  );
  if (lost === undefined) return sendPrompts(record, run, { atMs, chosen: isDue });
  if (isOpening(lost, run) || lost.kind === "nudge") {
    return stopRun(record, run, { as: "failed", error: NOT_STARTED, atMs });
  }
  return changeRun(record, withPrompt(run, lost.number, { isDropped: true }));
}

function watch(record: ForkRecord, run: LiveRun, { atMs }: Time): ForkStep {
  const isDue = isOverdue({ sinceMs: run.lastWatchAtMs, waitMs: WATCH_MS }, atMs);
  if (record.childSessionId === undefined || !isDue) return unchanged(record);
  const action: ForkAction =
    run.suspectedError === undefined ? { type: "look-at-status" } : checkChildAction(record, run);
  return changeRun(record, { ...run, lastWatchAtMs: atMs }, action);
}

function waitingDelivery(record: ForkRecord): readonly ForkAction[] {
  const isWaiting = record.runs.some((run) => !isLive(run) && run.delivery.state !== "acked");
  return isWaiting ? [{ type: "plan-delivery", parentSessionId: record.parentSessionId }] : [];
}

const NOT_STARTED = { kind: "not-started", message: "the host did not take the prompt" } as const;

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
function wrapUp(
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

/** Notes that the child waits for a permission; where nobody can answer it is rejected at once. */
export function permissionAsked(
  record: ForkRecord,
  { askId, what, atMs }: EventOf<"permission-asked">,
  limits: ForkLimits,
): ForkStep {
  const run = activeRun(record);
  if (run === undefined || run.asks.some((ask) => ask.askId === askId)) return unchanged(record);
  const asks = [...run.asks, { askId, askedAtMs: atMs }];
  const asked: LiveRun = { ...run, asks, lastSignAtMs: Math.max(run.lastSignAtMs, atMs) };
  if (limits.askTimeoutMs === 0) return rejectOverdue(record, asked, { atMs, limits });
  const text = `waits for a permission${what === undefined ? "" : `: ${what}`}`;
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
function rejectOverdue(
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
