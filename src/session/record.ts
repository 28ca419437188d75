import type { CacheArithmetic, CachePrices, EditTally } from "../stages/cache-plan.ts";
import { isObject, omitUndefined, type UnknownObject } from "../text/json.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import { estimateMessageTokens, type MessageEstimateOptions } from "../transcript/estimate-message.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  type Transcript,
  type Usage,
} from "../transcript/message.ts";
import type { EditBatch } from "./history.ts";
import type { LedgerEntry } from "./metered-summarizer.ts";
import { isPendingSummary, type PendingSummary } from "./pending-summaries.ts";
import { isEdit, isStoredBatch, type LearnedWindow, type SessionState, type StoredBatch } from "./state.ts";
import type { StoredBindings } from "./thoughts.ts";

/** What a session writes into its journal. */
export type SessionRecord =
  | BatchRecord
  | DeltaRecord
  | SnapshotRecord
  | {
      readonly v: 1;
      readonly type: "undo";
      readonly batchId: string;
      readonly at: number;
      readonly thoughts?: StoredBindings;
    }
  /** The provider has refused thoughts. */
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
  | ({ readonly v: 1; readonly type: "pending-summary"; readonly at: number } & PendingSummary);

/** A batch in a journal that keeps the state and no more. */
interface DeltaRecord extends StoredBatch, BatchFigures {
  readonly v: 2;
  readonly type: "delta";
}

/** What is in force, in place of every record before it. */
export interface SnapshotRecord {
  readonly v: 2;
  readonly type: "snapshot";
  readonly at: number;
  readonly state: SessionState;
  /** The newest steps; the others are one entry. */
  readonly ledger: readonly LedgerEntry[];
  /** When a person has last undone something. */
  readonly undoneAt?: number;
}

interface BatchFigures {
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
}

/** A batch with what each edit saved and the handle to recall what it left out. */
export interface BatchRecord extends Omit<EditBatch, "edits">, BatchFigures {
  readonly v: 1;
  readonly type: "batch";
  /** What the edits save against what they cost, where that was computed. */
  readonly arithmetic?: BatchArithmetic;
  readonly edits: readonly JournalledEdit[];
}

/** What a batch saves on every request, what it makes the provider read anew, and after how many turns it pays. */
interface BatchArithmetic extends CachePrices, Omit<EditTally, "breakEvenTurns"> {
  /** Unset when it never pays: then the edits were needed for the window to fit. */
  readonly breakEvenTurns?: number;
}

interface JournalledEdit {
  readonly edit: Edit;
  /** Tokens that left the window; below 0 for what was added. */
  readonly savedTokens: number;
  readonly handle: Handle;
}

/** The record of a batch for a journal that keeps the state. */
export function deltaRecord(batch: StoredBatch, moment: BatchMoment): DeltaRecord {
  return { v: 2, type: "delta", ...batch, ...figuresOf(moment) };
}

function figuresOf({ tokensBefore, tokensAfter, ...others }: BatchMoment): BatchFigures {
  const { degraded, summaryUsage, thoughtsLost, thoughts } = others;
  return { tokensBefore, tokensAfter, ...omitUndefined({ degraded, summaryUsage, thoughtsLost, thoughts }) };
}

/** The record of a batch, given the transcript before and after it. */
export function batchRecord(batch: EditBatch, moment: BatchMoment): BatchRecord {
  const { arithmetic } = moment;
  const saved = savedTokensOf(batch.edits, moment);
  return {
    v: 1,
    type: "batch",
    ...batch,
    ...figuresOf(moment),
    ...(arithmetic && { arithmetic: batchArithmetic(arithmetic) }),
    edits: batch.edits.map((edit, index) => ({
      edit,
      savedTokens: saved[index] ?? 0,
      handle: edit.omitted?.handle ?? editedMessageId(edit),
    })),
  };
}

/** What is known of a batch that has just been put in force. */
export interface BatchMoment extends BatchFigures {
  readonly before: Transcript;
  readonly after: Transcript;
  readonly estimate: MessageEstimateOptions;
  readonly arithmetic?: CacheArithmetic;
}

function batchArithmetic({ chosen, all: _, ...prices }: CacheArithmetic): BatchArithmetic {
  const { breakEvenTurns, ...sums } = chosen;
  return { ...prices, ...sums, ...(Number.isFinite(breakEvenTurns) && { breakEvenTurns }) };
}

/** The record in a value that was read from a journal; undefined for anything else. */
export function readRecord(value: unknown): SessionRecord | undefined {
  if (!isObject(value) || (value.v !== 1 && value.v !== 2)) return undefined;
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
  if (type === "delta") return isStoredBatch(value) ? (value as unknown as DeltaRecord) : undefined;
  if (type !== "batch" || typeof value.id !== "string" || !Array.isArray(value.edits)) return undefined;
  const isUsable = value.edits.every((item) => isObject(item) && isEdit(item.edit));
  return isUsable ? (value as unknown as BatchRecord) : undefined;
}

/** The batch of a record. */
export function batchOf({ id, step, reason, at, edits }: BatchRecord): EditBatch {
  return { id, step, reason, at, edits: edits.map(({ edit }) => edit) };
}

/** The stored batch of a record. */
export function storedBatchOf({ id, step, reason, at, edits }: StoredBatch): StoredBatch {
  return { id, step, reason, at, edits };
}

/** What a message lost is shared among its edits by the characters that each leaves out. */
function savedTokensOf(
  edits: readonly Edit[],
  { before, after, estimate }: Pick<BatchMoment, "before" | "after" | "estimate">,
): readonly number[] {
  const changed = new Set(edits.map(editedMessageId));
  // What stands before the first difference saved nothing.
  const first = before.findIndex((message, index) => message !== after[index]);
  const start = first === -1 ? before.length : first;
  const sizesIn = (transcript: Transcript): ReadonlyMap<MessageId, number> =>
    new Map(
      transcript
        .slice(start)
        .filter((message) => changed.has(message.id))
        .map((message) => [message.id, tokensOf(message, estimate)]),
    );
  const [sizesBefore, sizesAfter] = [sizesIn(before), sizesIn(after)];
  const charsByMessage = new Map<MessageId, number>();
  for (const edit of edits) {
    const id = editedMessageId(edit);
    charsByMessage.set(id, (charsByMessage.get(id) ?? 0) + weightOf(edit));
  }
  return edits.map((edit) => {
    const id = editedMessageId(edit);
    const savedTokens = (sizesBefore.get(id) ?? 0) - (sizesAfter.get(id) ?? 0);
    return Math.round((savedTokens * weightOf(edit)) / (charsByMessage.get(id) ?? 1));
  });
}

function tokensOf(message: Message, estimate: MessageEstimateOptions): number {
  return isVisibleToModel(message) ? estimateMessageTokens(message, estimate) : 0;
}

function weightOf({ omitted }: Edit): number {
  return 1 + Math.max(0, omitted?.chars ?? 0);
}

function editedMessageId(edit: Edit): MessageId {
  return edit.type === "insert-message" ? edit.message.id : edit.messageId;
}
