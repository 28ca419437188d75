import type { CacheArithmetic, CachePrices, EditTally } from "../stages/plan-edits.ts";
import { isFields } from "../text/is-fields.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import { estimateMessageTokens, type MessageEstimateOptions } from "../transcript/estimate-message-tokens.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import type { EditBatch } from "./edit-batch.ts";
import type { LedgerEntry } from "./ledger.ts";
import { isMessage, isPart } from "./message-shape.ts";

/** What a session writes into its journal. */
export type SessionRecord =
  | BatchRecord
  | { readonly v: 1; readonly type: "undo"; readonly batchId: string; readonly at: number }
  | { readonly v: 1; readonly type: "drop"; readonly batchId: string; readonly at: number }
  | ({ readonly v: 1; readonly type: "step" } & LedgerEntry);

/** A batch with what each edit saved and where what it leaves out can be recalled. */
export interface BatchRecord extends Omit<EditBatch, "edits"> {
  readonly v: 1;
  readonly type: "batch";
  /** What the window was estimated at before and after. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly degraded?: true;
  /** Set when it was weighed what the edits save against what they cost. */
  readonly arithmetic?: BatchArithmetic;
  readonly edits: readonly JournalledEdit[];
}

/** The figures behind a batch: what it saves on every request, what it makes the provider read anew, and when that is paid. */
export interface BatchArithmetic extends CachePrices, Omit<EditTally, "breakEvenTurns"> {
  /** Unset when it is never paid: then the edits were needed all the same. */
  readonly breakEvenTurns?: number;
}

export interface JournalledEdit {
  readonly edit: Edit;
  /** Tokens that left the window; below 0 for what was added. */
  readonly savedTokens: number;
  readonly handle: Handle;
}

/** The record of a batch, given the transcript before and after it. */
export function batchRecord(batch: EditBatch, moment: BatchMoment): BatchRecord {
  const { tokensBefore, tokensAfter, degraded, arithmetic } = moment;
  const saved = savedTokensOf(batch.edits, moment);
  return {
    v: 1,
    type: "batch",
    ...batch,
    tokensBefore,
    tokensAfter,
    ...(degraded && { degraded }),
    ...(arithmetic && { arithmetic: batchArithmetic(arithmetic) }),
    edits: batch.edits.map((edit, index) => ({
      edit,
      savedTokens: saved[index] ?? 0,
      handle: edit.omitted?.handle ?? targetOf(edit),
    })),
  };
}

export interface BatchMoment {
  readonly before: Transcript;
  readonly after: Transcript;
  readonly estimate: MessageEstimateOptions;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly degraded?: true;
  readonly arithmetic?: CacheArithmetic;
}

function batchArithmetic({ chosen, all: _, ...prices }: CacheArithmetic): BatchArithmetic {
  const { breakEvenTurns, ...sums } = chosen;
  return { ...prices, ...sums, ...(Number.isFinite(breakEvenTurns) && { breakEvenTurns }) };
}

/** The record in a value that was read from a journal; undefined when it is none of ours. */
export function readRecord(value: unknown): SessionRecord | undefined {
  if (!isFields(value) || value.v !== 1) return undefined;
  if (value.type === "undo" || value.type === "drop") {
    const { type, batchId, at } = value;
    return typeof batchId === "string" ? { v: 1, type, batchId, at: Number(at) || 0 } : undefined;
  }
  const { step, reason, at, tokensBefore, tokensAfter } = value;
  const isStep = typeof step === "string" && typeof reason === "string" && Number.isFinite(at);
  if (!isStep || !Number.isFinite(tokensBefore) || !Number.isFinite(tokensAfter)) return undefined;
  if (value.type === "step")
    return typeof value.outcome === "string" ? (value as unknown as SessionRecord) : undefined;
  if (value.type !== "batch" || typeof value.id !== "string" || !Array.isArray(value.edits)) return undefined;
  const isUsable = value.edits.every((item) => isFields(item) && isEdit(item.edit));
  return isUsable ? (value as unknown as BatchRecord) : undefined;
}

/** The batch that a record tells of. */
export function batchOf({ id, step, reason, at, edits }: BatchRecord): EditBatch {
  return { id, step, reason, at, edits: edits.map(({ edit }) => edit) };
}

/** What a message lost is shared among its edits by the characters that each leaves out. */
function savedTokensOf(
  edits: readonly Edit[],
  { before, after, estimate }: Pick<BatchMoment, "before" | "after" | "estimate">,
): readonly number[] {
  const changed = new Set(edits.map(targetOf));
  const sizesIn = (transcript: Transcript): ReadonlyMap<MessageId, number> =>
    new Map(
      transcript
        .filter((message) => changed.has(message.id))
        .map((message) => [message.id, tokensOf(message, estimate)]),
    );
  const [sizesBefore, sizesAfter] = [sizesIn(before), sizesIn(after)];
  const charsByMessage = new Map<MessageId, number>();
  for (const edit of edits) {
    const id = targetOf(edit);
    charsByMessage.set(id, (charsByMessage.get(id) ?? 0) + weightOf(edit));
  }
  return edits.map((edit) => {
    const id = targetOf(edit);
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

function targetOf(edit: Edit): MessageId {
  return edit.type === "insert-message" ? edit.message.id : edit.messageId;
}

/** True for a value from outside that has the shape of an edit. */
export function isEdit(value: unknown): value is Edit {
  if (!isFields(value) || typeof value.stage !== "string" || typeof value.reason !== "string") return false;
  switch (value.type) {
    case "hide-message":
      return typeof value.messageId === "string";
    case "hide-part":
      return typeof value.messageId === "string" && isIndex(value.partIndex);
    case "replace-part":
      return typeof value.messageId === "string" && isIndex(value.partIndex) && isPart(value.part);
    case "insert-message":
      return isPlace(value.after) && isMessage(value.message);
    case "move-message":
      return typeof value.messageId === "string" && isPlace(value.after);
    default:
      return false;
  }
}

function isIndex(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isPlace(value: unknown): boolean {
  return value === null || typeof value === "string";
}
