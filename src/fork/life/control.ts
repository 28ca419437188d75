import { openRun } from "./create-fork-record.ts";
import { closeDeliveries, holdDeliveries } from "./delivery.ts";
import { checkChildAction, endRun, endStopped, stopRun } from "./end.ts";
import { changeRun, type EventOf, type ForkStep, unchanged } from "./events.ts";
import type { ForkLimits } from "./limits.ts";
import { addPrompt, isUnsent, RESTART_TEXT, sendPrompts, wasPromptSent } from "./prompts.ts";
import { currentRun, type ForkError, type ForkRecord, isLive, type LiveRun } from "./record.ts";

/** Stops a live run on request; its last text is kept and delivered. */
export function cancelRun(record: ForkRecord, { reason, atMs }: EventOf<"cancel-asked">): ForkStep {
  const run = currentRun(record);
  if (!isLive(run)) return unchanged(record);
  return stopRun(record, run, { as: "cancelled", error: { kind: "cancelled", message: reason }, atMs });
}

/** Sends a live run a further prompt, or opens the next run; the same request counts once. */
export function steerOrResume(record: ForkRecord, event: EventOf<"resume-asked">): ForkStep {
  const { task, requestId, askedBy, atMs } = event;
  const wasDone = record.runs.some((run) => run.prompts.some((prompt) => prompt.requestId === requestId));
  const run = currentRun(record);
  if (wasDone) return unchanged(record);
  if (!isLive(run)) return openRun(record, { task, atMs, requestId, ...(askedBy && { askedBy }) });
  const isReporting = run.stopping !== undefined || run.wrapUp !== undefined;
  if (isReporting || run.adoption !== undefined) return unchanged(record);
  const steered = addPrompt(run, { kind: "steer", text: task, requestId });
  if (run.state !== "running") return changeRun(record, steered);
  return sendPrompts(record, steered, { atMs, chosen: isUnsent });
}

/** The user stopped the parent: its forks continue unless configured otherwise. */
export function parentAborted(
  record: ForkRecord,
  { atMs }: EventOf<"parent-aborted">,
  limits: ForkLimits,
): ForkStep {
  if (limits.onParentAbort === "keep") return unchanged(record);
  return cancelRun(record, { type: "cancel-asked", reason: "the parent was stopped", atMs });
}

/** The parent session is gone: the run is stopped and its result is not delivered. */
export function parentDeleted(record: ForkRecord, { atMs }: EventOf<"parent-deleted">): ForkStep {
  const closed = closeDeliveries(record, atMs);
  const run = currentRun(closed);
  if (!isLive(run)) return unchanged(closed);
  const error = { kind: "parent-deleted", message: "the parent session was deleted" };
  return stopRun(closed, run, { as: "cancelled", error, isUnwanted: true, atMs });
}

/** Takes over the fork of a program that is gone: the child is checked first, and the parent is not prompted. */
export function adoptFork(record: ForkRecord, event: EventOf<"adopted">, limits: ForkLimits): ForkStep {
  const { owner, atMs, fromInstanceId = record.owner.instanceId } = event;
  const isTaken = record.owner.instanceId !== fromInstanceId;
  if (isTaken || owner.instanceId === record.owner.instanceId) return unchanged(record);
  const owned: ForkRecord = { ...holdDeliveries(record), owner };
  const run = currentRun(owned);
  if (!isLive(run)) return unchanged(owned);
  const goneMs = run.startedAtMs === undefined ? 0 : atMs - Math.max(run.lastSignAtMs, run.lastWatchAtMs);
  const adopted: LiveRun = {
    ...run,
    adoption: { count: 1, lastAtMs: atMs },
    downMs: (run.downMs ?? 0) + Math.max(0, goneMs),
    lastWatchAtMs: atMs,
  };
  if (run.state === "queued" && limits.onRestart === "resume") {
    return { record: owned, actions: [{ type: "fill-slots" }] };
  }
  if (owned.childSessionId === undefined || !wasPromptSent(run)) {
    return interruptRun(owned, adopted, { atMs, limits, wasPrompted: false });
  }
  const state = run.state === "queued" ? "starting" : run.state;
  const taken: LiveRun = { ...adopted, state };
  return changeRun(owned, taken, checkChildAction(owned, taken));
}

/** This program exits in an orderly way: the run ends as interrupted. */
export function interruptOnExit(record: ForkRecord, { atMs }: EventOf<"owner-leaving">): ForkStep {
  const run = currentRun(record);
  if (!isLive(run)) return unchanged(record);
  const { stopping } = run;
  if (stopping !== undefined) return endStopped(record, { ...run, stopping }, { atMs, wakes: "nobody" });
  return endRun(record, run, { state: "interrupted", error: INTERRUPTED, atMs, wakes: "nobody" });
}

/** Ends a run whose program is gone; with `onRestart: "resume"` the next run is opened, once. */
export function interruptRun(record: ForkRecord, run: LiveRun, interruption: Interruption): ForkStep {
  const { text = "", changedFiles = [], atMs, limits, wasPrompted = true } = interruption;
  const end = { state: "interrupted", error: INTERRUPTED, atMs, text, changedFiles } as const;
  // A child that crashes its program must not be restarted for ever; one whose record was lost may have been cancelled.
  const mayGoOn = run.openedBy !== "restart" && run.isRebuilt !== true && run.undone === undefined;
  if (limits.onRestart === "report" || !mayGoOn) return endRun(record, run, end);
  const { record: ended } = endRun(record, run, { ...end, closedBy: "next-run" });
  const task = wasPrompted ? RESTART_TEXT : run.prompts[0]?.text || RESTART_TEXT;
  return openRun(ended, {
    task,
    atMs,
    openedBy: "restart",
    ...(run.askedBy && { askedBy: run.askedBy }),
  });
}

interface Interruption {
  readonly atMs: number;
  readonly limits: ForkLimits;
  readonly text?: string;
  readonly changedFiles?: readonly string[];
  /** False when the child never got its task. */
  readonly wasPrompted?: boolean;
}

/** The error of a run whose program is gone. */
const INTERRUPTED: ForkError = { kind: "interrupted", message: "the program that ran it ended" };
