import type { InheritMode } from "../context/choose-inherit-mode.ts";

/** Everything that is known about one fork, as plain JSON: one record a fork, written only by its owner. */
export interface ForkRecord {
  readonly schema: "fork/1";
  readonly id: string;
  /** Counts from 1 within the root session; people and models name the fork by it. */
  readonly number: number;
  /** The folder that the agent works in; unset in a rebuilt record. */
  readonly project?: string;
  /** The session at the top of the tree. */
  readonly rootSessionId: string;
  /** The session that started the fork and gets the result. */
  readonly parentSessionId: string;
  readonly childSessionId?: string;
  readonly agent: string;
  /** The agent that asked for it; unset in a rebuilt record. */
  readonly caller?: string;
  readonly model: ForkModel;
  readonly title: string;
  readonly inherited: Inheritance;
  readonly owner: ForkOwner;
  /** What the child session has cost in all its runs. */
  readonly spent: Spending;
  /** Never empty; the newest is last. Only the newest can be live. */
  readonly runs: readonly ForkRun[];
}

/** The model of the child, as the host names it. */
export interface ForkModel {
  readonly providerId: string;
  readonly modelId: string;
  readonly variant?: string;
}

/** What the child got of its parent's conversation, and why in this way. */
interface Inheritance {
  readonly mode: InheritMode;
  readonly reason: string;
  readonly chars: number;
  readonly messages: number;
  /** The name of the stored view, shared by siblings. */
  readonly snapshotId?: string;
}

/** The program instance that may write the record. */
export interface ForkOwner {
  readonly instanceId: string;
  readonly process: OwnerProcess;
  /** The owner's last heartbeat when the record was written. */
  readonly heartbeatAtMs: number;
}

export interface OwnerProcess {
  readonly host: string;
  readonly pid: number;
  /** The start time, which tells processes apart that reuse a pid; empty where the system does not provide it. */
  readonly start: string;
}

/** Totals of the child session; they only grow. */
interface Spending {
  readonly costUSD: number;
  readonly tokens: number;
  readonly steps: number;
}

/** What people call a fork. */
export function forkName({ number, title }: Pick<ForkRecord, "number" | "title">): string {
  return title === "" ? `Fork ${number}` : `Fork ${number} (${title})`;
}

/** The newest run. */
export function currentRun(record: ForkRecord): ForkRun {
  const run = record.runs.at(-1);
  if (run === undefined) throw new Error(`Fork ${record.id} has no run; read records with readForkRecord`);
  return run;
}

/** The newest run if it has a slot and its child exists. */
export function activeRun(record: ForkRecord): LiveRun | undefined {
  const run = currentRun(record);
  return isLive(run) && run.state !== "queued" && record.childSessionId !== undefined ? run : undefined;
}

/** True until the run is over. */
export function isLive(run: ForkRun): run is LiveRun {
  return run.state === "queued" || run.state === "starting" || run.state === "running";
}

/** How long a run has had a slot, without the time in which no program looked after it. */
export function workedMs(run: ForkRun, nowMs: number): number {
  const untilMs = isLive(run) ? nowMs : run.endedAtMs;
  const sinceMs = run.startedAtMs ?? (isLive(run) ? nowMs : run.queuedAtMs);
  return Math.max(0, untilMs - sinceMs - (run.downMs ?? 0));
}

/** The key of a prompt, stored with the message so that it can be found again. */
export function promptKey(
  { id }: ForkRecord,
  prompt: { readonly run: number; readonly number: number },
): string {
  return `${id}.${prompt.run}.${prompt.number}`;
}

/** The id of a result, stored with the delivered message so that it can be found again. */
export function deliveryId({ id }: Pick<ForkRecord, "id">, runNumber: number): string {
  return `${id}.${runNumber}`;
}

/** One attempt of a child at a task: live until it has ended. */
export type ForkRun = LiveRun | EndedRun;

interface RunBase {
  /** Counts from 1. */
  readonly number: number;
  readonly queuedAtMs: number;
  /** When it last got a slot. */
  readonly startedAtMs?: number;
  /** How long since then no program looked after it: not counted as run time. */
  readonly downMs?: number;
  /** All prompts of this run; the first is the task. */
  readonly prompts: readonly ChildPrompt[];
  readonly calls: CallCounters;
  /** How often a rate limit sent it back to the queue. */
  readonly rateLimits: number;
  /** Set when the run was opened without a request. */
  readonly openedBy?: "restart";
  /** Rebuilt from the child's metadata: whether its result was delivered is not known. */
  readonly isRebuilt?: true;
  /** The call of the parent that asked for it, where the host names it. */
  readonly askedBy?: AskingCall;
  /** The user took that call back, and may restore it or has gone on without it: the result is offered, not inserted. */
  readonly undone?: "restorable" | "gone";
}

/** A run that has not ended; `activityOf` tells what it is doing. */
export interface LiveRun extends RunBase {
  readonly state: "queued" | "starting" | "running";
  /** Not started before this, after a rate limit. */
  readonly notBeforeMs?: number;
  readonly creation?: Attempts;
  readonly lastSignAtMs: number;
  readonly lastWatchAtMs: number;
  /** The host is waiting to repeat a request to the provider. */
  readonly isRetrying?: true;
  /** Permission asks that nobody has answered. */
  readonly asks: readonly PermissionAsk[];
  readonly wrapUp?: WrapUp;
  /** The child is being stopped; only its last text is awaited. */
  readonly stopping?: Stopping;
  /** A reported failure of the child, until a check confirms it. */
  readonly suspectedError?: ForkError;
  /** Set when the run was adopted from an owner that is gone: checks of the child since then. */
  readonly adoption?: Attempts;
}

/** A run that has ended; only its delivery can still change. */
export interface EndedRun extends RunBase {
  readonly state: EndState;
  readonly endedAtMs: number;
  /** The report, or the last text when there is none; of a long one both ends. */
  readonly text: string;
  /** The length of the whole where only its ends are kept. */
  readonly textChars?: number;
  readonly changedFiles: readonly string[];
  readonly error?: ForkError;
  /** The limit at which the child was told to report. */
  readonly limit?: LimitName;
  /** A report that came after the end: kept, never delivered. */
  readonly lateText?: string;
  readonly delivery: Delivery;
}

export type EndState = "completed" | "failed" | "cancelled" | "timed-out" | "interrupted";

/** A call by which a parent asked for a run. */
export interface AskingCall {
  readonly messageId: string;
  readonly callId: string;
}

/** How often an action was requested, and when last. */
export interface Attempts {
  readonly count: number;
  readonly lastAtMs: number;
}

/** A message to the child. */
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
  /** The request it came from, so that the same request counts once. */
  readonly requestId?: string;
}

export type PromptKind = "task" | "continue" | "steer" | "nudge";

interface CallCounters {
  readonly total: number;
  /** How often the newest call was repeated in a row. */
  readonly streak: number;
  readonly lastHash?: string;
  /** To recognise a repeated event. */
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
  /** The child's newest answer when its report was asked for, or "" where it had given none; unset until then. */
  readonly askedAfter?: string;
}

export type LimitName = "time" | "tool-calls" | "repeated-call" | "fork-cost" | "root-cost" | "undone";

export interface Stopping {
  readonly as: "cancelled" | "timed-out" | "failed";
  readonly error: ForkError;
  readonly aborts: Attempts;
  /** The parent is gone: the result is not delivered. */
  readonly isUnwanted?: true;
}

/** Why a run failed; `kind` is a provider's error class, or one of `ForkErrorKind`. */
export interface ForkError {
  readonly kind: ForkErrorKind | (string & {});
  readonly message: string;
  /** How long the provider asked to wait. */
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
  | "undone"
  | `limit-${LimitName}`;

/** The delivery of a run's result to the parent. */
export interface Delivery {
  readonly state: "pending" | "sent" | "seen" | "acked";
  /** Since when it is in this state. */
  readonly sinceMs: number;
  readonly way?: DeliveryWay;
  /** How often it was sent. */
  readonly sends: number;
  /** When the parent was reminded to answer. */
  readonly remindedAtMs?: number;
  /** The parent is not prompted for it; it goes with a tool output or the user's next message. */
  readonly isHeld?: true;
  /** It may have been sent by an instance that is gone: search for it before anything else. */
  readonly isUnsure?: true;
  /** The user took back the message that brought it, and may restore it. */
  readonly isUndone?: true;
  /** Why the delivery is closed. */
  readonly closedBy?: "answer" | "read" | "parent-deleted" | "next-run" | "undone";
}

export type DeliveryWay = "tool-output" | "prompt" | "user-message" | "read";
