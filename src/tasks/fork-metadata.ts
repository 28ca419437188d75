import type { ForkOwner, ForkRecord } from "./fork-record.ts";
import type { ForkStep } from "./fork-step.ts";
import { checkChildAction } from "./prompt-child.ts";

/** What the child session itself carries of its fork, so that a lost record can be rebuilt. */
export interface ForkMetadata {
  readonly id: string;
  readonly root: string;
  readonly parent: string;
  readonly run: number;
  /** The snapshot of what it inherited. */
  readonly blob?: string;
}

/** The metadata to store with the child session, at its creation and with every new run. */
export function forkMetadata(record: ForkRecord): ForkMetadata {
  const { snapshotId } = record.inherited;
  return {
    id: record.id,
    root: record.rootSessionId,
    parent: record.parentSessionId,
    run: record.runs.at(-1)?.number ?? 1,
    ...(snapshotId === undefined ? {} : { blob: snapshotId }),
  };
}

/** Metadata as it was found in a session, or undefined when it is none of ours. */
export function readForkMetadata(value: unknown): ForkMetadata | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { id, root, parent, run, blob } = value as Readonly<Record<string, unknown>>;
  if (!isName(id) || !isName(root) || !isName(parent)) return undefined;
  if (!Number.isSafeInteger(run) || (run as number) < 1) return undefined;
  return { id, root, parent, run: run as number, ...(isName(blob) ? { blob } : {}) };
}

/**
 * A record made from a child session whose record is lost, and the look that settles what became of it. Whether its
 * result was delivered is not known, so it is looked for in the parent first.
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
      way: metadata.blob === undefined ? "text" : "graduated",
      reason: "rebuilt from the child session",
      chars: 0,
      messages: 0,
      ...(metadata.blob === undefined ? {} : { snapshotId: metadata.blob }),
    },
    owner,
    spent: { costUSD: session.costUSD ?? 0, tokens: 0, steps: 0 },
    runs: [],
  };
  const run = {
    number: metadata.run,
    state: "running",
    queuedAtMs: session.createdAtMs,
    startedAtMs: session.createdAtMs,
    lastSignAtMs: atMs,
    lastWatchAtMs: atMs,
    prompts: [
      { number: 1, kind: "directive", text: "", attempts: { count: 1, lastAtMs: session.createdAtMs } },
    ],
    calls: { total: 0, streak: 0, recentIds: [] },
    rateLimits: 0,
    asks: [],
    adoption: { count: 1, lastAtMs: atMs },
    isRebuilt: true,
  } as const;
  return { record: { ...record, runs: [run] }, actions: [checkChildAction(record, run)] };
}

export interface LostFork {
  readonly metadata: ForkMetadata;
  readonly session: ChildSession;
  readonly owner: ForkOwner;
  /** From `nextForkNumber`. */
  readonly number: number;
  readonly atMs: number;
}

/** What the host knows about a child session. */
export interface ChildSession {
  readonly id: string;
  readonly title: string;
  readonly createdAtMs: number;
  readonly agent?: string;
  readonly providerId?: string;
  readonly modelId?: string;
  readonly costUSD?: number;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 200;
}
