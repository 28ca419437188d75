import { plural } from "../../text/format-number.ts";
import { forbiddenText, LIMIT_REASON } from "./child-rules.ts";
import type { ForkLimits } from "./limits.ts";
import { currentRun, type ForkRecord, isLive } from "./record.ts";
import { mayStart } from "./start.ts";

/** Whether one more run may be queued now; a refusal says what to do instead. */
export function admitFork(view: ForkView, request: AdmissionRequest): Admission {
  const { records, limits } = view;
  if (request.type === "new" && request.isInsideFork) {
    return refuse("depth", forbiddenText("fork"));
  }
  const fork = request.type === "resume" ? records.find(({ id }) => id === request.forkId) : undefined;
  if (request.type === "resume" && fork === undefined) {
    return refuse("unknown", "There is no such fork. Call fork_result without an id for a list.");
  }
  const rootSessionId = request.type === "new" ? request.rootSessionId : (fork?.rootSessionId ?? "");
  const ofRoot = records.filter((record) => record.rootSessionId === rootSessionId);
  if (request.type === "new" && ofRoot.length >= limits.maxPerRoot) {
    return refuse(
      "per-root",
      `This session has had ${plural(limits.maxPerRoot, "fork")}, and more are not allowed. Resume one, or do it yourself.`,
    );
  }
  if (rootCostUSD(ofRoot) >= limits.rootUSD) {
    return refuse("root-cost", `The forks of this session have spent $${limits.rootUSD}. Do it yourself.`);
  }
  if (fork !== undefined) {
    const run = currentRun(fork);
    if (isLive(run) && run.stopping !== undefined) {
      return refuse("stopping", "This fork is being stopped. Resume it once it has ended.");
    }
    if (isLive(run) && run.adoption !== undefined) {
      return refuse(
        "stopping",
        "This fork was left behind by a program that ended. Resume it once that is settled.",
      );
    }
    if (fork.spent.costUSD >= limits.forkUSD) {
      return refuse(
        "fork-cost",
        `This fork has spent $${limits.forkUSD}. Start another one, or do it yourself.`,
      );
    }
    if (isLive(run) && run.wrapUp !== undefined) {
      return refuse(
        "stopping",
        `${LIMIT_REASON[run.wrapUp.limit]} This fork only reports now. Resume it once it has ended.`,
      );
    }
    if (isLive(run)) return { status: "admitted", place: "steer" };
  }
  return admitToQueue(view);
}

/** All records that this instance knows, and their limits. */
export interface ForkView {
  readonly records: readonly ForkRecord[];
  /** Whose slots and queue count. */
  readonly instanceId: string;
  readonly limits: ForkLimits;
}

/** A new fork, or a further run of an existing one. */
export type AdmissionRequest =
  | { readonly type: "new"; readonly rootSessionId: string; readonly isInsideFork: boolean }
  | { readonly type: "resume"; readonly forkId: string };

type Admission =
  | { readonly status: "admitted"; readonly place: "slot" | "queue" | "steer" }
  | { readonly status: "refused"; readonly reason: RefusalReason; readonly text: string };

type RefusalReason = "depth" | "unknown" | "per-root" | "root-cost" | "fork-cost" | "stopping" | "queue-full";

/** The forks that get a slot now, in the order in which they were queued. */
export function nextToStart(view: ForkView, atMs: number): readonly ForkRecord[] {
  const { running, waiting } = slotsOf(view);
  const due = waiting.filter(({ run }) => mayStart(run, atMs));
  return due
    .toSorted((a, b) => a.run.queuedAtMs - b.run.queuedAtMs || a.record.number - b.record.number)
    .slice(0, Math.max(0, view.limits.maxRunning - running))
    .map(({ record }) => record);
}

/** What all these forks have cost. */
export function rootCostUSD(records: readonly ForkRecord[]): number {
  return records.reduce((sumUSD, { spent }) => sumUSD + spent.costUSD, 0);
}

/** The number of the next fork of a root. */
export function nextForkNumber(records: readonly ForkRecord[], rootSessionId: string): number {
  return records.reduce(
    (next, record) => (record.rootSessionId === rootSessionId ? Math.max(next, record.number + 1) : next),
    1,
  );
}

function admitToQueue(view: ForkView): Admission {
  const { maxRunning, maxQueued } = view.limits;
  const { running, waiting } = slotsOf(view);
  if (running + waiting.length < maxRunning) return { status: "admitted", place: "slot" };
  if (running + waiting.length < maxRunning + maxQueued) return { status: "admitted", place: "queue" };
  return refuse(
    "queue-full",
    `${plural(running, "fork")} ${running === 1 ? "runs" : "run"} and ${waiting.length} ${waiting.length === 1 ? "waits" : "wait"}; more are not allowed. Wait for results, cancel one, or do it yourself.`,
  );
}

function slotsOf({ records, instanceId }: ForkView) {
  const live = records
    .filter((record) => record.owner.instanceId === instanceId)
    .flatMap((record) => {
      const run = currentRun(record);
      return isLive(run) ? [{ record, run }] : [];
    });
  const waiting = live.filter(({ run }) => run.state === "queued");
  return { running: live.length - waiting.length, waiting };
}

function refuse(reason: RefusalReason, text: string): Admission {
  return { status: "refused", reason, text };
}

/** The fork of a root session with this id or number; part of an id does not match. */
export function findFork(
  records: readonly ForkRecord[],
  { rootSessionId, name }: { readonly rootSessionId: string; readonly name: string },
): ForkRecord | undefined {
  const wanted = name.trim();
  const number = wanted.replace(/^(?:fork\s*)?#?/i, "");
  const ofRoot = records.filter((record) => record.rootSessionId === rootSessionId);
  return ofRoot.find(({ id }) => id === wanted) ?? ofRoot.find((record) => String(record.number) === number);
}
