import { endRun, endStopped } from "./end-run.ts";
import type { EventOf } from "./fork-event.ts";
import { currentRun, type ForkRecord, isLive, type LiveRun, spokenRun } from "./fork-record.ts";
import { type ForkStep, unchanged, without, withRun } from "./fork-step.ts";
import { CHILD_DELETED, isStopping } from "./judge-child.ts";
import { checkChildAction, wasTold } from "./prompt-child.ts";

/** A busy child runs; an idle one is looked at before anything is believed. */
export function sawStatus(record: ForkRecord, { status, atMs }: EventOf<"status">): ForkStep {
  const run = spokenRun(record);
  if (run === undefined) return unchanged(record);
  if (status === "idle") {
    return run.state === "running" ? { record, actions: [checkChildAction(record, run)] } : unchanged(record);
  }
  const state = wasTold(run) ? "running" : run.state;
  const isRetrying = status === "retry";
  const isNews = state !== run.state || isRetrying !== (run.isRetrying === true);
  // A busy child says so at every step; a record is not written for each.
  if (!isNews && atMs < run.lastSignAtMs + SIGN_MS) return unchanged(record);
  const seen: LiveRun = {
    ...without(run, "isRetrying"),
    state,
    lastSignAtMs: Math.max(run.lastSignAtMs, atMs),
    ...(isRetrying ? { isRetrying } : {}),
  };
  return { record: withRun(record, seen), actions: [] };
}

/** An error may be a late one of an earlier run, so it is kept as a suspicion until the child was looked at. */
export function childFailed(record: ForkRecord, { error }: EventOf<"child-failed">): ForkStep {
  const run = spokenRun(record);
  if (run === undefined) return unchanged(record);
  return {
    record: withRun(record, { ...run, suspectedError: error }),
    actions: [checkChildAction(record, run)],
  };
}

/** Without its session a run is over. */
export function childDeleted(record: ForkRecord, atMs: number): ForkStep {
  const run = currentRun(record);
  if (!isLive(run) || record.childSessionId === undefined) return unchanged(record);
  if (isStopping(run)) return endStopped(record, run, { atMs });
  return endRun(record, run, { state: "failed", error: CHILD_DELETED, atMs });
}

/** The end of a run that was told to stop. */
export function childStopped(record: ForkRecord, event: EventOf<"child-stopped">): ForkStep {
  const run = currentRun(record);
  if (run.number !== event.run || !isLive(run) || !isStopping(run)) return unchanged(record);
  const { atMs, text, changedFiles } = event;
  return endStopped(record, run, { atMs, text, changedFiles });
}

const SIGN_MS = 10_000;
