import { isOverdue } from "./attempts.ts";
import { NUDGE_TEXT } from "./child-rules.ts";
import {
  adoptFork,
  cancelRun,
  interruptOnExit,
  interruptRun,
  parentAborted,
  parentDeleted,
  steerOrResume,
} from "./control.ts";
import { advanceDelivery } from "./delivery.ts";
import { checkChildAction, endRun, endStopped } from "./end.ts";
import {
  type ChildFinding,
  type ChildOutput,
  changeRun,
  type EventOf,
  type ForkEvent,
  type ForkStep,
  unchanged,
  withoutKeys,
} from "./events.ts";
import type { ForkLimits } from "./limits.ts";
import { permissionAnswered, permissionAsked } from "./permissions.ts";
import { addPrompt, isOutstanding, isUnsent, sendPrompts, wasPromptSent } from "./prompts.ts";
import {
  activeRun,
  currentRun,
  type ForkError,
  type ForkRecord,
  isLive,
  type LiveRun,
  type Stopping,
} from "./record.ts";
import { keepReport } from "./report.ts";
import { countCall, countSpending, endOfLimit, requestStarted, rootCostReached } from "./run-limits.ts";
import {
  childCreated,
  childRefused,
  failOrRequeue,
  promptAccepted,
  promptRefused,
  startRun,
} from "./start.ts";
import { tick } from "./tick.ts";
import {
  deliveryGone,
  deliveryRestored,
  deliveryUndone,
  launchGone,
  launchRestored,
  launchUndone,
} from "./undo.ts";

/**
 * The only function that changes a fork: the record after an event, and the actions for the host to perform once that
 * record is stored. An event that comes twice, late or for another run changes nothing, and a run that has ended stays
 * ended. Results reach the parent through `planDelivery`, slots are given by `nextToStart`, and `admitFork` decides
 * whether a fork may be started at all.
 */
export function advanceFork(record: ForkRecord, event: ForkEvent, limits: ForkLimits): ForkStep {
  if (!Object.hasOwn(HANDLERS, event.type)) return { record, actions: [] };
  // The type of the event selects the handler for exactly this type.
  const handle = HANDLERS[event.type] as Handler<ForkEvent>;
  return handle(record, event, limits);
}

type Handler<Event> = (record: ForkRecord, event: Event, limits: ForkLimits) => ForkStep;

const HANDLERS: { readonly [Type in ForkEvent["type"]]: Handler<EventOf<Type>> } = {
  "slot-given": startRun,
  "child-created": childCreated,
  "child-refused": childRefused,
  "prompt-accepted": promptAccepted,
  "prompt-refused": promptRefused,
  status: statusSeen,
  "child-failed": childFailed,
  "child-deleted": childDeleted,
  "child-checked": childChecked,
  "child-stopped": childStopped,
  "request-started": requestStarted,
  "tool-called": countCall,
  spent: countSpending,
  "root-cost-reached": rootCostReached,
  "permission-asked": permissionAsked,
  "permission-answered": permissionAnswered,
  "cancel-asked": cancelRun,
  "resume-asked": steerOrResume,
  "parent-aborted": parentAborted,
  "parent-deleted": parentDeleted,
  "launch-undone": launchUndone,
  "launch-restored": launchRestored,
  "launch-gone": launchGone,
  tick,
  adopted: adoptFork,
  "owner-leaving": interruptOnExit,
  "delivery-sent": advanceDelivery,
  "delivery-seen": advanceDelivery,
  "delivery-absent": advanceDelivery,
  "delivery-reminded": advanceDelivery,
  "delivery-unanswered": advanceDelivery,
  "delivery-answered": advanceDelivery,
  "delivery-refused": advanceDelivery,
  "delivery-undone": deliveryUndone,
  "delivery-restored": deliveryRestored,
  "delivery-gone": deliveryGone,
};

/** The status of the child changed: a busy one is running, an idle one is checked. */
function statusSeen(record: ForkRecord, { status, atMs }: EventOf<"status">): ForkStep {
  const run = activeRun(record);
  if (run === undefined) return unchanged(record);
  if (status === "idle") {
    return run.state === "running" ? { record, actions: [checkChildAction(record, run)] } : unchanged(record);
  }
  const state = wasPromptSent(run) ? "running" : run.state;
  const isRetrying = status === "retry";
  const isNews = state !== run.state || isRetrying !== (run.isRetrying === true);
  // A busy child reports at every step; the record is not stored for each.
  if (!isNews && atMs < run.lastSignAtMs + SIGN_MS) return unchanged(record);
  const seen: LiveRun = {
    ...withoutKeys(run, "isRetrying"),
    state,
    lastSignAtMs: Math.max(run.lastSignAtMs, atMs),
    ...(isRetrying ? { isRetrying } : {}),
  };
  return changeRun(record, seen);
}

/** The child reported an error. It may belong to an earlier run, so it is kept until the child was checked. */
function childFailed(record: ForkRecord, { error }: EventOf<"child-failed">): ForkStep {
  const run = activeRun(record);
  if (run === undefined) return unchanged(record);
  return changeRun(record, { ...run, suspectedError: error }, checkChildAction(record, run));
}

/** The child session was deleted: the run ends. */
function childDeleted(record: ForkRecord, { atMs }: EventOf<"child-deleted">): ForkStep {
  const run = currentRun(record);
  if (!isLive(run) || record.childSessionId === undefined) return unchanged(record);
  if (isStopping(run)) return endStopped(record, run, { atMs });
  return endRun(record, run, { state: "failed", error: CHILD_DELETED, atMs });
}

/** The child has stopped on request: the run ends. */
function childStopped(record: ForkRecord, event: EventOf<"child-stopped">): ForkStep {
  const run = currentRun(record);
  if (run.number !== event.run || !isLive(run) || !isStopping(run)) return unchanged(record);
  const { atMs, text, changedFiles } = event;
  return endStopped(record, run, { atMs, text, changedFiles });
}

const SIGN_MS = 10_000;

type Check = EventOf<"child-checked">;

/** Decides what a check of the child means for the run. */
function childChecked(record: ForkRecord, event: Check, limits: ForkLimits): ForkStep {
  const { finding, atMs } = event;
  if (currentRun(record).number !== event.run) return unchanged(record);
  const active = activeRun(record);
  if (active === undefined) return keepLateText(record, finding);
  const total = Math.max(active.calls.total, event.calls ?? 0);
  const run: LiveRun = { ...active, calls: { ...active.calls, total } };
  if (finding.type === "working") return changeRun(record, markWorking(run, atMs));
  if (isStopping(run)) return checkedWhileStopping(record, run, event);

  switch (finding.type) {
    case "finished":
      return finding.text.trim() === ""
        ? nudgeOrEnd(record, run, { last: finding, atMs, limits })
        : completeRun(record, run, { finding, atMs });
    case "failed":
      return failOrInterrupt(record, run, { ...finding, atMs, limits });
    case "stopped":
    case "unprompted":
      return nudgeOrEnd(record, run, { last: finding, atMs, limits });
    case "missing":
      return endRun(record, run, { state: "failed", error: CHILD_DELETED, atMs });
    default:
      finding satisfies never;
      return unchanged(record);
  }
}

/** The error of a run whose child session is gone. */
const CHILD_DELETED: ForkError = { kind: "child-deleted", message: "the child session was deleted" };

/** A child may be idle for a moment after it accepted a prompt. */
const SETTLE_MS = 5_000;

/** True while the child is being stopped. */
function isStopping(run: LiveRun): run is LiveRun & { readonly stopping: Stopping } {
  return run.stopping !== undefined;
}

function markWorking(run: LiveRun, atMs: number): LiveRun {
  return {
    ...withoutKeys(run, "suspectedError", "adoption"),
    state: "running",
    lastSignAtMs: Math.max(run.lastSignAtMs, atMs),
  };
}

function checkedWhileStopping(
  record: ForkRecord,
  run: LiveRun & { readonly stopping: Stopping },
  { finding, atMs }: Check,
): ForkStep {
  const isWelcome = run.stopping.as !== "cancelled" && run.stopping.isUnwanted !== true;
  if (finding.type === "finished" && finding.text.trim() !== "" && isWelcome) {
    return completeRun(record, run, { finding, atMs });
  }
  const text = finding.type === "finished" ? finding.text || finding.lastText : lastOutput(finding).lastText;
  return endStopped(record, run, { atMs, text, changedFiles: lastOutput(finding).changedFiles });
}

function completeRun(
  record: ForkRecord,
  run: LiveRun,
  { finding, atMs }: { finding: Extract<ChildFinding, { readonly type: "finished" }>; atMs: number },
): ForkStep {
  // A prompt that is being sent may change the report; the next check decides.
  const isBeingSteered = run.prompts.some((prompt) => prompt.kind === "steer" && isOutstanding(prompt));
  if (isBeingSteered && run.adoption === undefined && !isStopping(run)) return unchanged(record);
  const { text, changedFiles } = finding;
  return endRun(record, run, { state: "completed", atMs, text, changedFiles });
}

interface Silence {
  readonly last: ChildFinding;
  readonly atMs: number;
  readonly limits: ForkLimits;
}

function failOrInterrupt(
  record: ForkRecord,
  run: LiveRun,
  failure: Extract<ChildFinding, { readonly type: "failed" }> & Omit<Silence, "last">,
): ForkStep {
  const { error, atMs, lastText: text, changedFiles } = failure;
  const isPassing = error.kind === "aborted" || error.kind === "rate_limit";
  if (isPassing && run.adoption !== undefined) return interruptRun(record, run, { ...failure, text });
  if (error.kind === "aborted") {
    return endRun(record, run, { state: "cancelled", error, atMs, text, changedFiles });
  }
  return failOrRequeue(record, run, failure);
}

/** The child is idle without an answer: the run fails, or the child is asked once to report. */
function nudgeOrEnd(record: ForkRecord, run: LiveRun, { last, atMs, limits }: Silence): ForkStep {
  const output = lastOutput(last);
  if (run.adoption === undefined && isSettling(run, last, atMs)) return unchanged(record);
  if (run.suspectedError !== undefined) {
    const { suspectedError: error, ...unsuspected } = run;
    return failOrInterrupt(record, unsuspected, { ...output, type: "failed", error, atMs, limits });
  }
  const end = { text: output.lastText, changedFiles: output.changedFiles, atMs };
  if (run.adoption !== undefined) {
    return interruptRun(record, run, { ...end, limits, wasPrompted: last.type !== "unprompted" });
  }
  if (run.wrapUp !== undefined) {
    const { as: state, error } = endOfLimit(run.wrapUp.limit);
    return endRun(record, run, { ...end, state, error });
  }
  if (run.prompts.some((prompt) => prompt.kind === "nudge")) {
    return endRun(record, run, { ...end, state: "failed", error: errorOf(last) });
  }
  return sendPrompts(record, addPrompt(run, { kind: "nudge", text: NUDGE_TEXT }), { atMs, chosen: isUnsent });
}

/** True while a prompt is being sent or has only just been accepted. */
function isSettling(run: LiveRun, last: ChildFinding, atMs: number): boolean {
  if (run.state === "starting" || run.prompts.some(isOutstanding)) return true;
  const newestAtMs = run.prompts.reduce(
    (newest, { attempts }) => Math.max(newest, attempts?.lastAtMs ?? 0),
    0,
  );
  return last.type !== "finished" && !isOverdue({ sinceMs: newestAtMs, waitMs: SETTLE_MS }, atMs);
}

function errorOf(last: ChildFinding): { readonly kind: string; readonly message: string } {
  return last.type === "finished"
    ? { kind: "empty-report", message: "the child ended without a report, twice" }
    : { kind: "no-report", message: "the child stopped without an answer, twice" };
}

function lastOutput(finding: ChildFinding): ChildOutput {
  return "lastText" in finding ? finding : { lastText: "", changedFiles: [] };
}

function keepLateText(record: ForkRecord, finding: ChildFinding): ForkStep {
  const run = currentRun(record);
  if (isLive(run) || run.state === "completed" || run.lateText !== undefined) return unchanged(record);
  if (finding.type !== "finished" || finding.text.trim() === "") return unchanged(record);
  const { text } = keepReport(finding.text);
  return text === run.text ? unchanged(record) : changeRun(record, { ...run, lateText: text });
}
