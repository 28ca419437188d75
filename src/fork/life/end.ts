import { omitUndefined } from "../../text/unknown-value.ts";
import { changeRun, type ForkAction, type ForkStep, unchanged, withoutKeys } from "./events.ts";
import { wasPromptSent } from "./prompts.ts";
import {
  type Delivery,
  type EndedRun,
  type EndState,
  type ForkError,
  type ForkRecord,
  type LiveRun,
  promptKey,
  type Stopping,
} from "./record.ts";
import { keepReport } from "./report.ts";

/** Ends the run and opens the delivery of its result. */
export function endRun(record: ForkRecord, run: LiveRun, end: RunEnd): ForkStep {
  const delivery = firstDelivery(run, end);
  const ended: EndedRun = {
    ...withoutKeys(run, ...LIVE_ONLY),
    state: end.state,
    endedAtMs: end.atMs,
    ...keepReport(end.text ?? ""),
    changedFiles: end.changedFiles ?? [],
    ...omitUndefined({ error: end.error, limit: run.wrapUp?.limit }),
    delivery,
  };
  const actions: ForkAction[] = [{ type: "fill-slots" }];
  if (delivery.closedBy === undefined)
    actions.push({ type: "plan-delivery", parentSessionId: record.parentSessionId });
  if (delivery.closedBy === undefined || delivery.closedBy === "undone")
    actions.push(run.undone === undefined ? endToast(ended) : offerToast(ended));
  return changeRun(record, ended, ...actions);
}

interface RunEnd {
  readonly state: EndState;
  readonly atMs: number;
  readonly text?: string;
  readonly changedFiles?: readonly string[];
  readonly error?: ForkError;
  /** The result waits for the user's next message. */
  readonly wakes?: "nobody";
  /** Set when the result is not to be delivered. */
  readonly closedBy?: "parent-deleted" | "next-run";
}

/** Ends a run that was being stopped, with its last text. */
export function endStopped(
  record: ForkRecord,
  run: LiveRun & { readonly stopping: Stopping },
  end: Omit<RunEnd, "state" | "error" | "closedBy">,
): ForkStep {
  const { as, error, isUnwanted } = run.stopping;
  return endRun(record, run, {
    ...end,
    state: as,
    error,
    ...(isUnwanted === true ? { closedBy: "parent-deleted" } : {}),
  });
}

/** Stops the child; ends the run at once where no prompt was sent yet. */
export function stopRun(record: ForkRecord, run: LiveRun, stop: Stop): ForkStep {
  const { atMs, ...how } = stop;
  if (run.stopping !== undefined) {
    if (how.isUnwanted !== true || run.stopping.isUnwanted === true) return unchanged(record);
    return changeRun(record, { ...run, stopping: { ...run.stopping, isUnwanted: true } });
  }
  const stopping: Stopping = { ...how, aborts: { count: 1, lastAtMs: atMs } };
  if (record.childSessionId === undefined || !wasPromptSent(run)) {
    return endStopped(record, { ...run, stopping }, { atMs });
  }
  return changeRun(record, { ...run, stopping }, { type: "abort-child", run: run.number });
}

export type Stop = Omit<Stopping, "aborts"> & { readonly atMs: number };

const LIVE_ONLY = [
  "notBeforeMs",
  "creation",
  "lastSignAtMs",
  "lastWatchAtMs",
  "isRetrying",
  "asks",
  "wrapUp",
  "stopping",
  "suspectedError",
  "adoption",
] as const satisfies readonly (keyof LiveRun)[];

function firstDelivery(run: LiveRun, { atMs, closedBy, wakes }: RunEnd): Delivery {
  if (closedBy !== undefined) return { state: "acked", sinceMs: atMs, sends: 0, closedBy };
  if (run.undone === "gone") return { state: "acked", sinceMs: atMs, sends: 0, closedBy: "undone" };
  const isHeld = run.adoption !== undefined || wakes === "nobody" ? ({ isHeld: true } as const) : {};
  // The result may have been delivered before the record was lost.
  if (run.isRebuilt === true) return { state: "sent", sinceMs: atMs, sends: 0, isUnsure: true, ...isHeld };
  return { state: "pending", sinceMs: atMs, sends: 0, ...isHeld };
}

type ToastAction = Extract<ForkAction, { readonly type: "toast" }>;

/** Tells people of a result that is not inserted. */
export function offerToast({ state }: EndedRun): ToastAction {
  const text = `${state}, asked for in a message that you took back: its result is not inserted, ask for it to read it`;
  return { type: "toast", tone: "info", text };
}

/** Tells people that a run has ended. */
export function endToast(run: EndedRun): ToastAction {
  const reason = run.error === undefined ? "" : `: ${run.error.message}`;
  return {
    type: "toast",
    tone: run.state === "completed" ? "success" : "warning",
    text: `${run.state}${reason}`,
  };
}

/** The action that checks whether our newest prompt was answered. */
export function checkChildAction(record: ForkRecord, run: LiveRun): ForkAction {
  const newest = run.prompts.findLast((prompt) => prompt.messageId !== undefined) ?? run.prompts[0];
  return {
    type: "check-child",
    run: run.number,
    key: promptKey(record, { run: run.number, number: newest?.number ?? 1 }),
    ...omitUndefined({ messageId: newest?.messageId }),
  };
}
