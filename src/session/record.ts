import { isObject, omitUndefined, type UnknownObject } from "../text/unknown-value.ts";
import type { Usage } from "../transcript/message.ts";
import type { LearnedWindow } from "./learned-window.ts";
import type { LedgerEntry } from "./ledger.ts";
import { isPendingSummary, type PendingSummary } from "./pending-summaries.ts";
import { isStoredBatch, type StoredBatch, type StoredState } from "./stored-state.ts";
import type { StoredBindings } from "./thoughts.ts";

/** What a session writes into its journal: what was done, one thing after the other, and now and then a snapshot. */
export type SessionRecord = WithRest &
  (
    | DeltaRecord
    | SnapshotRecord
    | {
        readonly v: 1;
        readonly type: "undo";
        readonly batchId: string;
        readonly at: number;
        readonly thoughts?: StoredBindings;
      }
    /** Something has changed without an edit. */
    | { readonly v: 2; readonly type: "rest"; readonly at: number; readonly thoughts: StoredBindings }
    /** As earlier versions wrote it after a refusal of thoughts. */
    | { readonly v: 1; readonly type: "thoughts"; readonly at: number; readonly thoughts: StoredBindings }
    | {
        readonly v: 1;
        readonly type: "drop";
        readonly batchId: string;
        readonly at: number;
        /** Set when all batches up to this one were dropped. */
        readonly folded?: true;
      }
    | {
        readonly v: 1;
        readonly type: "windows";
        readonly windows: readonly LearnedWindow[];
        readonly at: number;
      }
    | ({ readonly v: 1; readonly type: "step" } & LedgerEntry)
    | ({ readonly v: 1; readonly type: "pending-summary"; readonly at: number } & PendingSummary)
  );

interface WithRest {
  /** Everything of the state that is not batches, as it is after this record. */
  readonly rest?: unknown;
}

/** A batch that was put in force. */
export interface DeltaRecord extends StoredBatch, BatchFigures {
  readonly v: 2;
  readonly type: "delta";
}

/** What is in force, in place of every record before it. */
export interface SnapshotRecord {
  readonly v: 2;
  readonly type: "snapshot";
  readonly at: number;
  readonly state: StoredState;
  /** The newest steps; the others are one entry. */
  readonly ledger: readonly LedgerEntry[];
  /** When a person has last undone something. */
  readonly undoneAt?: number;
}

/** What is known of a batch that has just been put in force. */
export interface BatchFigures {
  /** What the window was estimated at before and after. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly degraded?: true;
  /** What the calls of the summarizer used. */
  readonly summaryUsage?: Usage;
  /** Thoughts of the model that were sent before, and are not any more. */
  readonly thoughtsLost?: number;
  /** What the thoughts so far are bound to, as far as that was not written before. */
  readonly thoughts?: StoredBindings;
  readonly rest?: unknown;
}

/** The record of a batch. */
export function deltaRecord(batch: StoredBatch, figures: BatchFigures): DeltaRecord {
  return { v: 2, type: "delta", ...batch, ...figures };
}

/** The record in a value that was read from a journal; undefined for anything else. */
export function readRecord(value: unknown): SessionRecord | undefined {
  if (!isObject(value) || (value.v !== 1 && value.v !== 2)) return undefined;
  const record = readKnown(value);
  return record && { ...record, ...omitUndefined({ rest: value.rest }) };
}

function readKnown(value: UnknownObject): SessionRecord | undefined {
  const at = Number(value.at) || 0;
  switch (value.type) {
    case "undo":
    case "drop": {
      const { type, batchId, thoughts } = value;
      if (typeof batchId !== "string") return undefined;
      if (type === "undo")
        return {
          v: 1,
          type,
          batchId,
          at,
          ...(isObject(thoughts) && { thoughts: thoughts as unknown as StoredBindings }),
        };
      return { v: 1, type: "drop", batchId, at, ...(value.folded === true && { folded: true }) };
    }
    case "pending-summary":
      return isPendingSummary(value) ? { ...value, v: 1, type: "pending-summary", at } : undefined;
    case "rest":
      return isObject(value.thoughts)
        ? { v: 2, type: "rest", at, thoughts: value.thoughts as unknown as StoredBindings }
        : undefined;
    case "thoughts":
      return isObject(value.thoughts)
        ? { v: 1, type: "thoughts", at, thoughts: value.thoughts as unknown as StoredBindings }
        : undefined;
    case "windows":
      return Array.isArray(value.windows)
        ? { v: 1, type: "windows", windows: value.windows as readonly LearnedWindow[], at }
        : undefined;
    case "snapshot":
      return isObject(value.state) && Array.isArray(value.ledger)
        ? (value as unknown as SnapshotRecord)
        : undefined;
    default:
      return readStep(value);
  }
}

function readStep(value: UnknownObject): SessionRecord | undefined {
  const { type, step, reason, at, tokensBefore, tokensAfter } = value;
  const isStep = typeof step === "string" && typeof reason === "string" && Number.isFinite(at);
  if (!isStep || !Number.isFinite(tokensBefore) || !Number.isFinite(tokensAfter)) return undefined;
  if (type === "step")
    return typeof value.outcome === "string" ? (value as unknown as SessionRecord) : undefined;
  if (type === "batch") return readStep({ ...olderBatch(value), type: "delta" });
  return type === "delta" && isStoredBatch(value) ? (value as unknown as DeltaRecord) : undefined;
}

/** An older journal has each edit in an object, beside what was computed of it. */
function olderBatch({ arithmetic: _, edits, ...batch }: UnknownObject): UnknownObject {
  const inner = Array.isArray(edits)
    ? edits.map((item: unknown) => (isObject(item) ? item.edit : item))
    : edits;
  return { ...batch, v: 2, edits: inner };
}

/** The stored batch of a record. */
export function storedBatchOf({ id, step, reason, at, edits }: StoredBatch): StoredBatch {
  return { id, step, reason, at, edits };
}
