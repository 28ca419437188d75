import { omitUndefined } from "../../text/json.ts";
import { truncate } from "../../text/truncate.ts";
import { changeRun, type ForkAction, type ForkStep, unchanged, withoutKeys } from "./events.ts";
import { wasPromptSent } from "./prompt.ts";
import {
  type Delivery,
  type EndedRun,
  type EndState,
  type ForkError,
  type ForkRecord,
  forkName,
  type LiveRun,
  type Stopping,
} from "./record.ts";

/** Ends the run and opens the delivery of its result. */
export function endRun(record: ForkRecord, run: LiveRun, end: RunEnd): ForkStep {
  const delivery = firstDelivery(run, end);
  const ended: EndedRun = {
    ...withoutKeys(run, ...LIVE_ONLY),
    state: end.state,
    endedAtMs: end.atMs,
    text: boundText(end.text ?? ""),
    changedFiles: end.changedFiles ?? [],
    ...omitUndefined({ error: end.error, limit: run.wrapUp?.limit }),
    delivery,
  };
  const actions: ForkAction[] = [{ type: "fill-slots" }];
  if (delivery.closedBy === undefined) {
    actions.push({ type: "plan-delivery", parentSessionId: record.parentSessionId });
    actions.push(endToast(record, ended));
  }
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

/** Text as it is kept in a record; the whole report is in the child's session. */
export function boundText(text: string): string {
  return truncate(text, { limitChars: MAX_KEPT_CHARS, method: "head-tail" }).text;
}

const MAX_KEPT_CHARS = 32_000;

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
  const isHeld = run.adoption !== undefined || wakes === "nobody" ? ({ isHeld: true } as const) : {};
  // The result may have been delivered before the record was lost.
  if (run.isRebuilt === true) return { state: "sent", sinceMs: atMs, sends: 0, isUnsure: true, ...isHeld };
  return { state: "pending", sinceMs: atMs, sends: 0, ...isHeld };
}

function endToast(record: ForkRecord, run: EndedRun): ForkAction {
  const reason = run.error === undefined ? "" : `: ${run.error.message}`;
  return {
    type: "toast",
    tone: run.state === "completed" ? "success" : "warning",
    text: `${forkName(record)} ${run.state}${reason}`,
  };
}
