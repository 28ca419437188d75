import { plural } from "../../text/format-number.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import { forbiddenText, LIMIT_REASON } from "./child-rules.ts";
import { addPrompt, CONTINUE_TEXT, endRun, isOutstanding, isUnsent, sendPrompts, withPrompt } from "./end.ts";
import {
  type ChildOutput,
  changeRun,
  type EventOf,
  type ForkStep,
  unchanged,
  withoutKeys,
} from "./events.ts";
import {
  type AskingCall,
  type ChildPrompt,
  countAttempt,
  currentRun,
  type ForkError,
  type ForkLimits,
  type ForkRecord,
  isLive,
  type LiveRun,
} from "./record.ts";

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

/** Takes a run out of the queue: its child is created, or gets the next prompt. */
export function startRun(record: ForkRecord, { atMs }: EventOf<"slot-given">): ForkStep {
  const run = currentRun(record);
  if (run.state !== "queued" || !mayStart(run, atMs)) return unchanged(record);
  const isFirst = run.startedAtMs === undefined;
  const started: LiveRun = {
    ...withoutKeys(run, "notBeforeMs", "downMs"),
    state: "starting",
    startedAtMs: atMs,
    lastSignAtMs: atMs,
    lastWatchAtMs: atMs,
  };
  const prompted = started.prompts.some(isOutstanding)
    ? started
    : addPrompt(started, { kind: "continue", text: CONTINUE_TEXT });
  const step =
    record.childSessionId === undefined
      ? createChild(record, prompted, atMs)
      : sendFirst(record, prompted, atMs);
  if (!isFirst) return step;
  return {
    ...step,
    actions: [...step.actions, { type: "toast", tone: "info", text: "started" }],
  };
}

/** Requests the child session; counts the attempts. */
export function createChild(record: ForkRecord, run: LiveRun, atMs: number): ForkStep {
  const creation = countAttempt(run.creation, atMs);
  return changeRun(
    record,
    { ...run, creation },
    { type: "create-child", run: run.number, attempt: creation.count },
  );
}

/** Takes the child session; a second one is ignored. */
export function childCreated(
  record: ForkRecord,
  { childSessionId, atMs }: EventOf<"child-created">,
): ForkStep {
  if (record.childSessionId !== undefined) return unchanged(record);
  const adopted: ForkRecord = { ...record, childSessionId };
  const run = currentRun(record);
  return run.state === "starting" ? sendFirst(adopted, run, atMs) : unchanged(adopted);
}

/** Ends the run, or queues it again after a rate limit. */
export function childRefused(
  record: ForkRecord,
  { run: number, error, atMs }: EventOf<"child-refused">,
): ForkStep {
  const run = currentRun(record);
  if (run.number !== number || run.state !== "starting" || record.childSessionId !== undefined) {
    return unchanged(record);
  }
  return failOrRequeue(record, run, { error, atMs });
}

/** The host has accepted a prompt; with the first one the run is running. */
export function promptAccepted(record: ForkRecord, event: EventOf<"prompt-accepted">): ForkStep {
  const run = currentRun(record);
  const prompt = run.prompts.find(({ number }) => number === event.prompt);
  if (run.number !== event.run || prompt?.attempts === undefined || prompt.messageId !== undefined) {
    return unchanged(record);
  }
  const { messageId, atMs } = event;
  if (!isLive(run)) {
    const prompts = run.prompts.map((each) => (each === prompt ? { ...each, messageId } : each));
    // The prompt started a child whose run has ended.
    return changeRun(record, { ...run, prompts }, { type: "abort-child", run: run.number });
  }
  const accepted = withPrompt(run, prompt.number, { messageId });
  if (run.state === "queued") return changeRun(record, accepted);
  return sendPrompts(
    record,
    { ...accepted, state: "running", lastSignAtMs: atMs, lastWatchAtMs: atMs },
    { atMs, chosen: isUnsent },
  );
}

/** The host refused a prompt: the run fails, is queued again or goes on without it. */
export function promptRefused(record: ForkRecord, event: EventOf<"prompt-refused">): ForkStep {
  const run = currentRun(record);
  const prompt = run.prompts.find(({ number }) => number === event.prompt);
  if (run.number !== event.run || prompt?.attempts === undefined || !isOutstanding(prompt)) {
    return unchanged(record);
  }
  if (!isLive(run) || run.state === "queued" || run.stopping !== undefined) return unchanged(record);
  const { error, atMs } = event;
  if (isOpening(prompt, run)) return failOrRequeue(record, run, { error, atMs });
  if (prompt.kind === "nudge") return endRun(record, run, { state: "failed", error, atMs });
  return changeRun(record, withPrompt(run, prompt.number, { isDropped: true }));
}

/** True for a prompt that the child needs to start working. */
export function isOpening({ kind }: ChildPrompt, run: LiveRun): boolean {
  return run.state === "starting" || kind === "directive" || kind === "continue";
}

/** Ends the run as failed; after a rate limit it is queued again instead, a few times, with exponential backoff. */
export function failOrRequeue(record: ForkRecord, run: LiveRun, failure: RunFailure): ForkStep {
  const { error, atMs } = failure;
  const isPassing =
    error.kind === "rate_limit" && run.rateLimits < MAX_RATE_LIMITS && run.wrapUp === undefined;
  if (!isPassing) {
    const { lastText: text = "", changedFiles = [] } = failure;
    return endRun(record, run, { state: "failed", error, atMs, text, changedFiles });
  }
  const askedMs = Math.min(error.retryAfterMs ?? 0, MAX_BACK_OFF_MS);
  const backOffMs = Math.min(FIRST_BACK_OFF_MS * 2 ** run.rateLimits, MAX_BACK_OFF_MS);
  const notBeforeMs = atMs + Math.max(askedMs, backOffMs);
  const waiting: LiveRun = {
    ...withoutKeys(run, "creation", "isRetrying", "suspectedError", "adoption"),
    state: "queued",
    asks: [],
    rateLimits: run.rateLimits + 1,
    notBeforeMs,
  };
  return changeRun(record, waiting, { type: "fill-slots" }, { type: "fill-slots", notBeforeMs });
}

interface RunFailure extends Partial<ChildOutput> {
  readonly error: ForkError;
  readonly atMs: number;
}

const MAX_RATE_LIMITS = 5;
const FIRST_BACK_OFF_MS = 15_000;

/** Sends the first prompt alone; the others follow once it is accepted. */
function sendFirst(record: ForkRecord, run: LiveRun, atMs: number): ForkStep {
  const first = run.prompts.find(isOutstanding);
  return sendPrompts(record, run, { atMs, chosen: (prompt) => prompt === first });
}

/** The longest that a run waits after a rate limit. */
const MAX_BACK_OFF_MS = 300_000;

/** True when a queued run may get a slot; a wait longer than the longest means that the clock was set back. */
export function mayStart({ notBeforeMs = 0 }: LiveRun, atMs: number): boolean {
  return atMs >= notBeforeMs || notBeforeMs > atMs + MAX_BACK_OFF_MS;
}

/** The record of a new fork: its first run waits in the queue. */
export function createForkRecord(fork: NewFork): ForkRecord {
  const { directive, atMs, askedBy, ...rest } = fork;
  return {
    schema: "fork/1",
    ...rest,
    spent: { costUSD: 0, tokens: 0, steps: 0 },
    runs: [queuedRun(1, { directive, atMs, ...omitUndefined({ askedBy }) })],
  };
}

/** What a new fork needs. */
export interface NewFork extends Omit<ForkRecord, "schema" | "spent" | "runs" | "childSessionId"> {
  readonly directive: string;
  readonly atMs: number;
  readonly askedBy?: AskingCall;
}

/** Queues the next run of a fork whose last run has ended. */
export function openRun(record: ForkRecord, opening: RunOpening): ForkStep {
  const run = queuedRun((record.runs.at(-1)?.number ?? 0) + 1, opening);
  return { record: { ...record, runs: [...record.runs, run] }, actions: [{ type: "fill-slots" }] };
}

interface RunOpening {
  readonly directive: string;
  readonly atMs: number;
  readonly requestId?: string;
  readonly openedBy?: "restart";
  readonly askedBy?: AskingCall;
}

/** A run that waits for a slot. */
export function queuedRun(number: number, opening: RunOpening): LiveRun {
  const { directive, atMs, requestId, openedBy, askedBy } = opening;
  return {
    number,
    state: "queued",
    queuedAtMs: atMs,
    lastSignAtMs: atMs,
    lastWatchAtMs: atMs,
    prompts: [{ number: 1, kind: "directive", text: directive, ...omitUndefined({ requestId }) }],
    calls: { total: 0, streak: 0, recentIds: [] },
    rateLimits: 0,
    asks: [],
    ...omitUndefined({ openedBy, askedBy }),
  };
}
