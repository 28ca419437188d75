import { bounded, endRun, endStopped } from "./end-run.ts";
import type { ChildFinding, EventOf } from "./fork-event.ts";
import type { ForkLimits } from "./fork-limits.ts";
import {
  currentRun,
  type ForkError,
  type ForkRecord,
  isLive,
  type LiveRun,
  type Stopping,
  spokenRun,
} from "./fork-record.ts";
import { type ForkStep, unchanged, without, withRun } from "./fork-step.ts";
import { NUDGE_TEXT } from "./fork-texts.ts";
import { hasPassed } from "./has-passed.ts";
import { interruptRun } from "./interrupt-run.ts";
import { endOfLimit } from "./limit-run.ts";
import { addPrompt, isOutstanding, isUnsent, sendPrompts } from "./prompt-child.ts";
import { failOrRequeue } from "./start-run.ts";

type Check = EventOf<"child-checked">;
type Last = Pick<Extract<ChildFinding, { readonly type: "stopped" }>, "lastText" | "changedFiles">;

/** Decides from what a look at the child showed. */
export function childChecked(record: ForkRecord, event: Check, limits: ForkLimits): ForkStep {
  const { finding, atMs } = event;
  if (currentRun(record).number !== event.run) return unchanged(record);
  const run = spokenRun(record);
  if (run === undefined) return keepLateText(record, finding);
  if (finding.type === "working") return { record: withRun(record, atWork(run, atMs)), actions: [] };
  if (isStopping(run)) return checkedWhileStopping(record, run, event);

  switch (finding.type) {
    case "finished":
      return finding.text.trim() === ""
        ? silent(record, run, { last: finding, atMs, limits })
        : reported(record, run, { finding, atMs });
    case "failed":
      return failed(record, run, { ...finding, atMs, limits });
    case "stopped":
    case "unprompted":
      return silent(record, run, { last: finding, atMs, limits });
    case "missing":
      return endRun(record, run, { state: "failed", error: CHILD_DELETED, atMs });
    default:
      finding satisfies never;
      return unchanged(record);
  }
}

/** What is said of a run whose child is gone. */
export const CHILD_DELETED: ForkError = { kind: "child-deleted", message: "the child session was deleted" };

/** From accepting a prompt to being busy a child may look idle for a moment. */
const SETTLE_MS = 5_000;

/** True while only the last words of a child are awaited. */
export function isStopping(run: LiveRun): run is LiveRun & { readonly stopping: Stopping } {
  return run.stopping !== undefined;
}

function atWork(run: LiveRun, atMs: number): LiveRun {
  return {
    ...without(run, "suspectedError", "adoption"),
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
    return reported(record, run, { finding, atMs });
  }
  const text = finding.type === "finished" ? finding.text || finding.lastText : lastOf(finding).lastText;
  return endStopped(record, run, { atMs, text, changedFiles: lastOf(finding).changedFiles });
}

function reported(
  record: ForkRecord,
  run: LiveRun,
  { finding, atMs }: { finding: Extract<ChildFinding, { readonly type: "finished" }>; atMs: number },
): ForkStep {
  // The report does not know what is on its way to the child; the next look decides.
  const isSpokenTo = run.prompts.some((prompt) => prompt.kind === "steer" && isOutstanding(prompt));
  if (isSpokenTo && run.adoption === undefined && !isStopping(run)) return unchanged(record);
  const { text, changedFiles } = finding;
  return endRun(record, run, { state: "completed", atMs, text, changedFiles });
}

interface Silence {
  readonly last: ChildFinding;
  readonly atMs: number;
  readonly limits: ForkLimits;
}

function failed(
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

/** The child is idle and has not answered: it failed, or it is asked once to report. */
function silent(record: ForkRecord, run: LiveRun, { last, atMs, limits }: Silence): ForkStep {
  const { lastText, changedFiles } = lastOf(last);
  if (run.adoption === undefined && isSettling(run, last, atMs)) return unchanged(record);
  if (run.suspectedError !== undefined) {
    const { suspectedError: error, ...unsuspected } = run;
    return failed(record, unsuspected, { type: "failed", error, lastText, changedFiles, atMs, limits });
  }
  const end = { text: lastText, changedFiles, atMs };
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

/** Something of ours is on its way to the child, or has only just reached it. */
function isSettling(run: LiveRun, last: ChildFinding, atMs: number): boolean {
  if (run.state === "starting" || run.prompts.some(isOutstanding)) return true;
  const newestAtMs = run.prompts.reduce(
    (newest, { attempts }) => Math.max(newest, attempts?.lastAtMs ?? 0),
    0,
  );
  return last.type !== "finished" && !hasPassed({ sinceMs: newestAtMs, waitMs: SETTLE_MS }, atMs);
}

function errorOf(last: ChildFinding): { readonly kind: string; readonly message: string } {
  return last.type === "finished"
    ? { kind: "empty-report", message: "the child ended without a report, twice" }
    : { kind: "no-report", message: "the child stopped without an answer, twice" };
}

function lastOf(finding: ChildFinding): Last {
  return "lastText" in finding ? finding : { lastText: "", changedFiles: [] };
}

function keepLateText(record: ForkRecord, finding: ChildFinding): ForkStep {
  const run = currentRun(record);
  if (isLive(run) || run.state === "completed" || run.lateText !== undefined) return unchanged(record);
  if (finding.type !== "finished" || finding.text.trim() === "" || bounded(finding.text) === run.text) {
    return unchanged(record);
  }
  return { record: withRun(record, { ...run, lateText: bounded(finding.text) }), actions: [] };
}
