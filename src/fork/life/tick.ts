import { countAttempt, isDueAgain, isOverdue, MAX_ATTEMPTS, WATCH_MS } from "./attempts.ts";
import { interruptRun } from "./control.ts";
import { checkChildAction, endStopped, stopRun } from "./end.ts";
import { changeRun, type EventOf, type ForkAction, type ForkStep, unchanged } from "./events.ts";
import type { ForkLimits } from "./limits.ts";
import { rejectOverdue } from "./permissions.ts";
import { isOutstanding, sendPrompts, withPrompt } from "./prompts.ts";
import { type ChildPrompt, currentRun, type ForkRecord, isLive, type LiveRun, workedMs } from "./record.ts";
import { endOfLimit, wrapUp } from "./run-limits.ts";
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
