import { closeDeliveries, holdDeliveries } from "./advance-delivery.ts";
import { endRun, endStopped, stopRun } from "./end-run.ts";
import type { EventOf } from "./fork-event.ts";
import type { ForkLimits } from "./fork-limits.ts";
import { currentRun, type ForkRecord, isLive, type LiveRun } from "./fork-record.ts";
import { type ForkStep, unchanged, withRun } from "./fork-step.ts";
import { INTERRUPTED, interruptRun } from "./interrupt-run.ts";
import { openRun } from "./open-run.ts";
import { addPrompt, checkChildAction, isUnsent, sendPrompts, wasTold } from "./prompt-child.ts";

/** Stops a live run on request; its last text is kept and delivered. */
export function cancel(record: ForkRecord, { reason, atMs }: EventOf<"cancel-asked">): ForkStep {
  const run = currentRun(record);
  if (!isLive(run)) return unchanged(record);
  return stopRun(record, run, { as: "cancelled", error: { kind: "cancelled", message: reason }, atMs });
}

/** Steers a live run, or opens the next one; the same request does so once. */
export function resume(record: ForkRecord, event: EventOf<"resume-asked">): ForkStep {
  const { directive, requestId, atMs } = event;
  const wasDone = record.runs.some((run) => run.prompts.some((prompt) => prompt.requestId === requestId));
  const run = currentRun(record);
  if (wasDone) return unchanged(record);
  if (!isLive(run)) return openRun(record, { directive, atMs, requestId });
  if (run.stopping !== undefined || run.adoption !== undefined) return unchanged(record);
  const steered = addPrompt(run, { kind: "steer", text: directive, requestId });
  if (run.state !== "running") return { record: withRun(record, steered), actions: [] };
  return sendPrompts(record, steered, { atMs, chosen: isUnsent });
}

/** The user stopped the parent: its forks go on unless configured otherwise. */
export function parentAborted(record: ForkRecord, atMs: number, limits: ForkLimits): ForkStep {
  if (limits.onParentAbort === "keep") return unchanged(record);
  return cancel(record, { type: "cancel-asked", reason: "the parent was stopped", atMs });
}

/** Nobody is left to be told. */
export function parentDeleted(record: ForkRecord, atMs: number): ForkStep {
  const closed = closeDeliveries(record, atMs);
  const run = currentRun(closed);
  if (!isLive(run)) return unchanged(closed);
  const error = { kind: "parent-deleted", message: "the parent session was deleted" };
  return stopRun(closed, run, { as: "cancelled", error, isUnwanted: true, atMs });
}

/** Takes the fork of a dead owner over: what the child did meanwhile is looked at, and nothing wakes the parent. */
export function adopt(record: ForkRecord, event: EventOf<"adopted">, limits: ForkLimits): ForkStep {
  const { owner, atMs, fromInstanceId = record.owner.instanceId } = event;
  const isTaken = record.owner.instanceId !== fromInstanceId;
  if (isTaken || owner.instanceId === record.owner.instanceId) return unchanged(record);
  const owned: ForkRecord = { ...holdDeliveries(record), owner };
  const run = currentRun(owned);
  if (!isLive(run)) return unchanged(owned);
  const adopted: LiveRun = { ...run, adoption: { count: 1, lastAtMs: atMs } };
  if (run.state === "queued" && limits.onRestart === "resume") {
    return { record: owned, actions: [{ type: "fill-slots" }] };
  }
  if (owned.childSessionId === undefined || !wasTold(run)) {
    return interruptRun(owned, adopted, { atMs, limits, wasPrompted: false });
  }
  const state = run.state === "queued" ? "starting" : run.state;
  const taken: LiveRun = { ...adopted, state };
  return { record: withRun(owned, taken), actions: [checkChildAction(owned, taken)] };
}

/** An orderly end of the program: the child ends with it. */
export function leave(record: ForkRecord, atMs: number): ForkStep {
  const run = currentRun(record);
  if (!isLive(run)) return unchanged(record);
  const { stopping } = run;
  if (stopping !== undefined) return endStopped(record, { ...run, stopping }, { atMs, wakes: "nobody" });
  return endRun(record, run, { state: "interrupted", error: INTERRUPTED, atMs, wakes: "nobody" });
}
