import { countAttempt } from "./attempts.ts";
import { endRun } from "./end.ts";
import {
  type ChildOutput,
  changeRun,
  type EventOf,
  type ForkStep,
  unchanged,
  withoutKeys,
} from "./events.ts";
import { addPrompt, CONTINUE_TEXT, isOutstanding, isUnsent, sendPrompts, withPrompt } from "./prompts.ts";
import {
  type ChildPrompt,
  currentRun,
  type ForkError,
  type ForkRecord,
  isLive,
  type LiveRun,
} from "./record.ts";

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
  return run.state === "starting" || kind === "task" || kind === "continue";
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
