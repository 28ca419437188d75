import { asObject } from "../../text/unknown-value.ts";
import type { InheritMode } from "../context/choose-inherit-mode.ts";
import { countAttempt } from "./attempts.ts";
import { queuedRun } from "./create-fork-record.ts";
import { checkChildAction } from "./end.ts";
import type { ForkStep } from "./events.ts";
import type { AskingCall, ForkOwner, ForkRecord, LiveRun } from "./record.ts";
import { ASKING_CALL, MODE } from "./stored-record.ts";

/** What is stored in the child session about its fork, so that a lost record can be rebuilt. */
export interface ForkMetadata {
  readonly id: string;
  /** What people call the fork. */
  readonly number: number;
  readonly root: string;
  readonly parent: string;
  readonly run: number;
  readonly mode: InheritMode;
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
    mode: record.inherited.mode,
    ...(snapshotId === undefined ? {} : { blob: snapshotId }),
    ...(run?.askedBy && { askedBy: run.askedBy }),
  };
}

/** The metadata found in a session; undefined when it is not that of a fork. */
export function readForkMetadata(value: unknown): ForkMetadata | undefined {
  const { id, number, root, parent, run, mode, blob, askedBy } = asObject(value);
  if (!isName(id) || !isName(root) || !isName(parent)) return undefined;
  if (!isOrdinal(number) || !isOrdinal(run)) return undefined;
  return {
    id,
    number,
    root,
    parent,
    run,
    mode: MODE(mode) ? (mode as InheritMode) : "text",
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
      mode: metadata.mode,
      reason: "rebuilt from the child session",
      chars: 0,
      messages: 0,
      ...(metadata.blob === undefined ? {} : { snapshotId: metadata.blob }),
    },
    owner,
    spent: { costUSD: session.costUSD ?? 0, tokens: 0, steps: 0 },
    runs: [],
  };
  const queued = queuedRun(metadata.run, { task: "", atMs: session.createdAtMs });
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
