/** Everything that is known about one fork, as plain JSON: one record a fork, written only by its owner. */
export interface ForkRecord {
  readonly schema: "fork/1";
  readonly id: string;
  /** Counts from 1 within the root session; what people and models call the fork. */
  readonly number: number;
  /** The session that the child hangs under. */
  readonly rootSessionId: string;
  /** The session that asked and that gets the result. */
  readonly parentSessionId: string;
  readonly childSessionId?: string;
  readonly agent: string;
  readonly model: ForkModel;
  readonly title: string;
  readonly inherited: Inheritance;
  readonly owner: ForkOwner;
  /** What the child session has cost in all its runs. */
  readonly spent: Spending;
  /** Never empty; the newest is last. Only the newest can be live. */
  readonly runs: readonly ForkRun[];
}

/** Which model a child runs on, in the host's words. */
export interface ForkModel {
  readonly providerId: string;
  readonly modelId: string;
  readonly variant?: string;
}

/** What the child got of its parent's conversation, and why in this way. */
interface Inheritance {
  readonly way: ForkWayName;
  readonly reason: string;
  readonly chars: number;
  readonly messages: number;
  /** The name of the stored view, shared by siblings. */
  readonly snapshotId?: string;
}

type ForkWayName = "exact" | "graduated" | "text";

/** The program instance that may write a record, named beyond the life of its pid. */
export interface ForkOwner {
  readonly instanceId: string;
  readonly process: OwnerProcess;
  /** The owner's last sign of life that this record knows of. */
  readonly heartbeatAtMs: number;
}

export interface OwnerProcess {
  readonly host: string;
  readonly pid: number;
  /** Empty where the system does not tell; with the pid it survives the reuse of a pid. */
  readonly start: string;
}

/** Totals of the child session; they only grow. */
interface Spending {
  readonly costUSD: number;
  readonly tokens: number;
  readonly steps: number;
}

/** The newest run. */
export function currentRun(record: ForkRecord): ForkRun {
  const run = record.runs.at(-1);
  if (run === undefined) throw new Error(`Fork ${record.id} has no run; read records with readForkRecord`);
  return run;
}

/** The newest run if its child exists and has a slot: only then can anything be heard of the child. */
export function activeRun(record: ForkRecord): LiveRun | undefined {
  const run = currentRun(record);
  return isLive(run) && run.state !== "queued" && record.childSessionId !== undefined ? run : undefined;
}

/** True until the run is over. */
export function isLive(run: ForkRun): run is LiveRun {
  return run.state === "queued" || run.state === "starting" || run.state === "running";
}

/** The name of one message of ours to a child, to be stored with it so that it can be found again. */
export function promptKey(
  { id }: ForkRecord,
  prompt: { readonly run: number; readonly number: number },
): string {
  return `${id}.${prompt.run}.${prompt.number}`;
}

/** The name of one result, to be stored with what is delivered so that it can be found again. */
export function deliveryId({ id }: Pick<ForkRecord, "id">, runNumber: number): string {
  return `${id}.${runNumber}`;
}

/** One attempt of a child at a task: live until it is over, then for ever over. */
export type ForkRun = LiveRun | EndedRun;

interface RunBase {
  /** Counts from 1. */
  readonly number: number;
  readonly queuedAtMs: number;
  /** When it last got a slot. */
  readonly startedAtMs?: number;
  /** All that is said to the child in this run; the first is the directive. */
  readonly prompts: readonly ChildPrompt[];
  readonly calls: CallCounters;
  /** How often a rate limit sent it back to the queue. */
  readonly rateLimits: number;
  /** Why this run was opened, if nobody asked for it. */
  readonly openedBy?: "restart";
  /** Made from the child's metadata: whether a result was delivered before is not known. */
  readonly isRebuilt?: true;
}

/** A run that is not over. What it is doing while running is `activityOf`. */
export interface LiveRun extends RunBase {
  readonly state: "queued" | "starting" | "running";
  /** Not before this, after a rate limit. */
  readonly notBeforeMs?: number;
  readonly creation?: Attempts;
  readonly lastSignAtMs: number;
  readonly lastWatchAtMs: number;
  /** The host waits to repeat a request to the provider. */
  readonly isRetrying?: true;
  /** Permission asks that nobody has answered. */
  readonly asks: readonly PermissionAsk[];
  readonly wrapUp?: WrapUp;
  /** The child must end; only its last words are awaited. */
  readonly stopping?: Stopping;
  /** Something said that the child failed; believed once the child was looked at. */
  readonly suspectedError?: ForkError;
  /** Taken over from a dead owner; how often a look at the child was asked for since. */
  readonly adoption?: Attempts;
}

/** A run that is over, for ever. */
export interface EndedRun extends RunBase {
  readonly state: EndState;
  readonly endedAtMs: number;
  /** The report, or as much of one as there was. */
  readonly text: string;
  readonly changedFiles: readonly string[];
  readonly error?: ForkError;
  /** The limit at which the child was told to report. */
  readonly limit?: LimitName;
  /** What came after the end: kept, never delivered. */
  readonly lateText?: string;
  readonly delivery: Delivery;
}

export type EndState = "completed" | "failed" | "cancelled" | "timed-out" | "interrupted";

/** How often something was asked of the host, and when last. */
export interface Attempts {
  readonly count: number;
  readonly lastAtMs: number;
}

/** One message of ours to the child. */
export interface ChildPrompt {
  /** Counts from 1 within the run. */
  readonly number: number;
  readonly kind: PromptKind;
  readonly text: string;
  readonly attempts?: Attempts;
  /** The host's id of the stored message; set once the host has it. */
  readonly messageId?: string;
  /** It will not be sent any more. */
  readonly isDropped?: true;
  /** Who asked for it, so that the same request does not count twice. */
  readonly requestId?: string;
}

export type PromptKind = "directive" | "continue" | "steer" | "nudge" | "wrap-up";

interface CallCounters {
  readonly total: number;
  /** How often the newest call was made in a row. */
  readonly streak: number;
  readonly lastHash?: string;
  /** By which a repeated event is known. */
  readonly recentIds: readonly string[];
}

interface PermissionAsk {
  readonly askId: string;
  readonly askedAtMs: number;
  /** How often the host was told to reject it. */
  readonly rejects?: Attempts;
}

interface WrapUp {
  readonly limit: LimitName;
  readonly atMs: number;
}

export type LimitName = "time" | "tool-calls" | "repeated-call" | "fork-cost" | "root-cost";

export interface Stopping {
  readonly as: "cancelled" | "timed-out" | "failed";
  readonly error: ForkError;
  readonly aborts: Attempts;
  /** The parent is gone: nobody is to be told. */
  readonly isUnwanted?: true;
}

/** Why a run did not end well; `kind` is a provider's error class, or one of `ForkErrorKind`. */
export interface ForkError {
  readonly kind: ForkErrorKind | (string & {});
  readonly message: string;
  /** What the provider asked to wait. */
  readonly retryAfterMs?: number;
}

type ForkErrorKind =
  | "rate_limit"
  | "aborted"
  | "cancelled"
  | "child-deleted"
  | "parent-deleted"
  | "empty-report"
  | "no-report"
  | "not-started"
  | "interrupted"
  | `limit-${LimitName}`;

/** The outbox row of a run: how far its result has got to the parent. */
export interface Delivery {
  readonly state: "pending" | "sent" | "seen" | "acked";
  /** Since when it is in this state. */
  readonly sinceMs: number;
  readonly way?: DeliveryWay;
  /** How often it was sent. */
  readonly sends: number;
  /** The parent was asked once more to answer. */
  readonly kickedAtMs?: number;
  /** Nothing may wake the parent for it; it goes with a tool output or the user's next message. */
  readonly isHeld?: true;
  /** Sent by somebody who is gone, or perhaps: look before anything else. */
  readonly isUnsure?: true;
  /** Why nothing more is to be done. */
  readonly closedBy?: "answer" | "read" | "parent-deleted" | "next-run";
}

export type DeliveryWay = "tool-output" | "prompt" | "user-message" | "read";
