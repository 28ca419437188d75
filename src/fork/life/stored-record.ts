import { asObject, isObject } from "../../text/unknown-value.ts";
import type { ForkWay } from "../context/options.ts";
import { checkChildAction } from "./end.ts";
import type { ForkStep } from "./events.ts";
import {
  type AskingCall,
  countAttempt,
  type ForkOwner,
  type ForkRecord,
  type LiveRun,
  type OwnerProcess,
} from "./record.ts";
import { queuedRun } from "./start.ts";

/** A stored value as a fork record; undefined when it is not one of this version. */
export function readForkRecord(value: unknown): ForkRecord | undefined {
  return isRecord(value) ? (value as ForkRecord) : undefined;
}

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;

const isText: Check = (value) => typeof value === "string";
const isCount: Check = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;

function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

function shaped(shape: Shape): Check {
  const checks = Object.entries(shape);
  return (value) => isObject(value) && checks.every(([key, check]) => check(value[key]));
}

function oneOf(...words: readonly string[]): Check {
  return (value) => words.some((word) => word === value);
}

const ATTEMPTS = shaped({ count: isCount, lastAtMs: isCount });
const ERROR = shaped({ kind: isText, message: isText });
const WAY = oneOf("exact", "graduated", "text");
const ASKING_CALL = shaped({ messageId: isText, callId: isText });

const RUN_BASE: Shape = {
  number: isCount,
  queuedAtMs: isCount,
  startedAtMs: optional(isCount),
  downMs: optional(isCount),
  prompts: listOf(
    shaped({
      number: isCount,
      kind: oneOf("directive", "continue", "steer", "nudge"),
      text: isText,
      attempts: optional(ATTEMPTS),
      messageId: optional(isText),
    }),
  ),
  calls: shaped({ total: isCount, streak: isCount, lastHash: optional(isText), recentIds: listOf(isText) }),
  rateLimits: isCount,
  askedBy: optional(ASKING_CALL),
};

const LIVE_RUN = shaped({
  ...RUN_BASE,
  state: oneOf("queued", "starting", "running"),
  notBeforeMs: optional(isCount),
  creation: optional(ATTEMPTS),
  lastSignAtMs: isCount,
  lastWatchAtMs: isCount,
  asks: listOf(shaped({ askId: isText, askedAtMs: isCount, rejects: optional(ATTEMPTS) })),
  wrapUp: optional(
    shaped({
      limit: oneOf("time", "tool-calls", "repeated-call", "fork-cost", "root-cost", "undone"),
      atMs: isCount,
      askedAfter: optional(isText),
    }),
  ),
  stopping: optional(
    shaped({ as: oneOf("cancelled", "timed-out", "failed"), error: ERROR, aborts: ATTEMPTS }),
  ),
  suspectedError: optional(ERROR),
  adoption: optional(ATTEMPTS),
});

const ENDED_RUN = shaped({
  ...RUN_BASE,
  state: oneOf("completed", "failed", "cancelled", "timed-out", "interrupted"),
  endedAtMs: isCount,
  text: isText,
  textChars: optional(isCount),
  changedFiles: listOf(isText),
  error: optional(ERROR),
  delivery: shaped({
    state: oneOf("pending", "sent", "seen", "acked"),
    sinceMs: isCount,
    sends: isCount,
    remindedAtMs: optional(isCount),
  }),
});

const isRecord = shaped({
  schema: oneOf("fork/1"),
  id: isText,
  number: isCount,
  project: optional(isText),
  rootSessionId: isText,
  parentSessionId: isText,
  childSessionId: optional(isText),
  agent: isText,
  caller: optional(isText),
  model: shaped({ providerId: isText, modelId: isText, variant: optional(isText) }),
  title: isText,
  inherited: shaped({
    way: WAY,
    reason: isText,
    chars: isCount,
    messages: isCount,
    snapshotId: optional(isText),
  }),
  owner: shaped({ instanceId: isText, process: isProcess, heartbeatAtMs: isCount }),
  spent: shaped({ costUSD: isCount, tokens: isCount, steps: isCount }),
  runs: isRunList,
});

function isRunList(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((run, index) => ENDED_RUN(run) || (index === value.length - 1 && LIVE_RUN(run)));
}

/** What is stored in the child session about its fork, so that a lost record can be rebuilt. */
export interface ForkMetadata {
  readonly id: string;
  /** What people call the fork. */
  readonly number: number;
  readonly root: string;
  readonly parent: string;
  readonly run: number;
  readonly way: ForkWay;
  /** The snapshot of what it inherited. */
  readonly blob?: string;
  /** The call of the parent that asked for the run. */
  readonly askedBy?: AskingCall;
}

/** The metadata to store with the child session, at its creation and with every new run. */
export function forkMetadata(record: ForkRecord): ForkMetadata {
  const { snapshotId } = record.inherited;
  const run = record.runs.at(-1);
  return {
    id: record.id,
    number: record.number,
    root: record.rootSessionId,
    parent: record.parentSessionId,
    run: run?.number ?? 1,
    way: record.inherited.way,
    ...(snapshotId === undefined ? {} : { blob: snapshotId }),
    ...(run?.askedBy && { askedBy: run.askedBy }),
  };
}

/** The metadata found in a session; undefined when it is not that of a fork. */
export function readForkMetadata(value: unknown): ForkMetadata | undefined {
  const { id, number, root, parent, run, way, blob, askedBy } = asObject(value);
  if (!isName(id) || !isName(root) || !isName(parent)) return undefined;
  if (!isOrdinal(number) || !isOrdinal(run)) return undefined;
  return {
    id,
    number,
    root,
    parent,
    run,
    way: WAY(way) ? (way as ForkWay) : "text",
    ...(isName(blob) ? { blob } : {}),
    ...(ASKING_CALL(askedBy) ? { askedBy: askedBy as AskingCall } : {}),
  };
}

/**
 * A record rebuilt from a child session whose record is lost, and the action that checks the child. Whether its
 * result was delivered is not known, so the parent's messages are searched for it first.
 */
export function rebuildForkRecord({ metadata, session, owner, number, atMs }: LostFork): ForkStep {
  const record: ForkRecord = {
    schema: "fork/1",
    id: metadata.id,
    number,
    rootSessionId: metadata.root,
    parentSessionId: metadata.parent,
    childSessionId: session.id,
    agent: session.agent ?? "",
    model: { providerId: session.providerId ?? "", modelId: session.modelId ?? "" },
    title: session.title,
    inherited: {
      way: metadata.way,
      reason: "rebuilt from the child session",
      chars: 0,
      messages: 0,
      ...(metadata.blob === undefined ? {} : { snapshotId: metadata.blob }),
    },
    owner,
    spent: { costUSD: session.costUSD ?? 0, tokens: 0, steps: 0 },
    runs: [],
  };
  const queued = queuedRun(metadata.run, { directive: "", atMs: session.createdAtMs });
  const run: LiveRun = {
    ...queued,
    state: "running",
    startedAtMs: session.createdAtMs,
    downMs: Math.max(0, atMs - (session.updatedAtMs ?? atMs)),
    lastSignAtMs: atMs,
    lastWatchAtMs: atMs,
    prompts: queued.prompts.map((prompt) => ({
      ...prompt,
      attempts: countAttempt(undefined, session.createdAtMs),
    })),
    adoption: countAttempt(undefined, atMs),
    isRebuilt: true,
    ...(metadata.askedBy && { askedBy: metadata.askedBy }),
  };
  return { record: { ...record, runs: [run] }, actions: [checkChildAction(record, run)] };
}

interface LostFork {
  readonly metadata: ForkMetadata;
  readonly session: ChildSession;
  readonly owner: ForkOwner;
  /** From `nextForkNumber`. */
  readonly number: number;
  readonly atMs: number;
}

/** What the host knows about a child session. */
interface ChildSession {
  readonly id: string;
  readonly title: string;
  readonly createdAtMs: number;
  readonly updatedAtMs?: number;
  readonly agent?: string;
  readonly providerId?: string;
  readonly modelId?: string;
  readonly costUSD?: number;
}

function isOrdinal(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 200;
}

/** Between two heartbeats of an instance. */
export const HEARTBEAT_MS = 5_000;
/** Without a heartbeat for so long, an owner whose process is unknown counts as gone. */
const STALE_MS = 30_000;

/** The heartbeat of one program instance: one record for all its forks. */
export interface InstanceLease extends ForkOwner {
  readonly schema: "instance/1";
}

/** The id under which an instance's lease is stored. */
export function leaseRecordId(instanceId: string): string {
  return `instance-${instanceId}`;
}

/** The lease to store, every `HEARTBEAT_MS`. */
export function createLease(owner: Omit<ForkOwner, "heartbeatAtMs">, atMs: number): InstanceLease {
  return { schema: "instance/1", ...owner, heartbeatAtMs: atMs };
}

/** What is known about an owner's process; `running` only if pid and start time both match. */
export type ProcessState = "running" | "gone" | "unknown";

/** Whether an owner still holds its forks; a running process does, however old its heartbeat. */
export function leaseState(owner: ForkOwner, seen: OwnerObservation): "held" | "lost" {
  if (seen.process === "running") return "held";
  if (seen.process === "gone") return "lost";
  const heartbeatAtMs = Math.max(owner.heartbeatAtMs, seen.lease?.heartbeatAtMs ?? 0);
  return (seen.ageMs ?? seen.nowMs - heartbeatAtMs) > STALE_MS ? "lost" : "held";
}

interface OwnerObservation {
  readonly nowMs: number;
  readonly process: ProcessState;
  /** The owner's stored lease, if there is one. */
  readonly lease?: InstanceLease;
  /** How long ago the owner stored something, by the clock of a store that has one: no heartbeat dated ahead deceives it. */
  readonly ageMs?: number;
}

/** True for a fork whose owner is gone; the version of the record decides which of several instances gets it. */
export function canAdopt(
  { owner }: ForkRecord,
  seen: OwnerObservation & { readonly instanceId: string },
): boolean {
  return owner.instanceId !== seen.instanceId && leaseState(owner, seen) === "lost";
}

/** A stored lease, or undefined for anything else. */
export function readLease(value: unknown): InstanceLease | undefined {
  const { schema, instanceId, heartbeatAtMs, process } = asObject(value);
  const isNamed = schema === "instance/1" && typeof instanceId === "string";
  const isLease = isNamed && typeof heartbeatAtMs === "number" && isProcess(process);
  return isLease ? (value as InstanceLease) : undefined;
}

/** True for a value that names a process. */
function isProcess(value: unknown): value is OwnerProcess {
  const { host, pid, start } = asObject(value);
  return typeof host === "string" && typeof pid === "number" && typeof start === "string";
}
