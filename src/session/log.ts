import type { CompactionEvent } from "../compaction/compact.ts";
import { callWithin } from "../compaction/ports/call-within.ts";
import type { Clock } from "../compaction/ports/clock.ts";
import type { CacheArithmetic, CachePrices, EditTally } from "../stages/cache-plan.ts";
import { isObject } from "../text/json.ts";
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
import type { Journal } from "./journal.ts";
import type { SummaryUsage } from "./metered-summarizer.ts";
import { isPendingSummary, type PendingSummary } from "./pending-summaries.ts";
import { isMessage, isPart } from "./source-messages.ts";

/** Writes a session's records and emits its events, in order. A failure here is a warning and never stops the session. */
export interface SessionLog {
  /** Queues a record for the journal. */
  write(record: SessionRecord): void;
  /** Resolves when every record so far was written or reported as lost. */
  written(): Promise<void>;
  emit(event: SessionEvent): void;
  warn(code: WarningCode, message: string): void;
}

/** The log of a session. */
export function createSessionLog({ journal, clock, onEvent }: SessionLogPorts): SessionLog {
  let tail: Promise<void> = Promise.resolve();

  function emit(event: SessionEvent): void {
    try {
      onEvent?.(event);
    } catch {
      // A listener that throws must not stop the session.
    }
  }

  function warn(code: WarningCode, message: string): void {
    emit({ type: "warning", code, message });
  }

  async function append(to: Journal, record: SessionRecord): Promise<void> {
    const start = async () => to.append(record);
    const result = await callWithin({ start, limitMs: JOURNAL_LIMIT_MS, clock });
    if (result.status === "done" && result.value?.status === "appended") return;
    const code =
      result.status === "done" && result.value?.status === "failed" ? result.value.code : result.status;
    warn(
      "not-journalled",
      `A ${record.type} could not be written to the journal: ${String(code).slice(0, 80)}`,
    );
  }

  return {
    write(record) {
      if (journal !== undefined) tail = tail.then(() => append(journal, record));
    },
    written: () => tail,
    emit,
    warn,
  };
}

interface SessionLogPorts {
  readonly journal: Journal | undefined;
  readonly clock: Clock;
  readonly onEvent: ((event: SessionEvent) => void) | undefined;
}

/** How long a write to the journal is waited for. */
const JOURNAL_LIMIT_MS = 10_000;

/** Something the session did or noticed. Every start is followed by exactly one end, also after an abort. */
export type SessionEvent =
  | CompactionEvent
  | ToolSummaryStart
  | ToolSummaryEnd
  | ContextChanged
  | SummaryUsed
  | SessionWarning;

/** The summarizer was called: what that used, whether or not its answer was of use. */
interface SummaryUsed extends SummaryUsage {
  readonly type: "summary_usage";
}

/** Old tool results are about to be summed up. */
interface ToolSummaryStart {
  readonly type: "tool_summary_start";
  /** Results that the model reads now. */
  readonly visibleResults: number;
}

/** Tool results were summarized, or that failed. */
export interface ToolSummaryEnd {
  readonly type: "tool_summary_end";
  /** Results that left the window. */
  readonly archivedResults: number;
  /** What failed. */
  readonly error?: string;
  /** Set when the summaries were made without the model because that failed. */
  readonly degraded?: true;
}

/** The window changed: it was edited, an edit was undone, or its owner or the model changed. */
interface ContextChanged {
  readonly type: "context_changed";
  /** The step, or `undo`, `restore`, `base` (the owner changed earlier messages), `model`. */
  readonly kind: string;
  /** Why, in a word or a sentence. */
  readonly reason: string;
  /** Estimated tokens before. */
  readonly before: number;
  /** Estimated tokens now. */
  readonly after: number;
  /** Counts the changes of the context. */
  readonly epoch: number;
}

/** Something that the session can go on with, and somebody may want to know. */
interface SessionWarning {
  readonly type: "warning";
  /** What it is about. */
  readonly code: WarningCode;
  /** The same in a sentence. */
  readonly message: string;
}

/** What a warning is about. */
export type WarningCode =
  | "compaction-gained-little"
  | "not-journalled"
  | "journal-damaged"
  | "no-usable-window"
  | "formulas-disagree"
  | "edits-dropped"
  | "message-repeated"
  | "no-messages"
  | "usage-anomaly"
  | "hook-failed"
  | "not-persisted"
  | "request-not-edited";

/** What a session writes into its journal. */
export type SessionRecord =
  | BatchRecord
  | { readonly v: 1; readonly type: "undo"; readonly batchId: string; readonly at: number }
  | { readonly v: 1; readonly type: "drop"; readonly batchId: string; readonly at: number }
  | ({ readonly v: 1; readonly type: "step" } & LedgerEntry)
  | ({ readonly v: 1; readonly type: "pending-summary"; readonly at: number } & PendingSummary);

/** A batch with what each edit saved and the handle to recall what it left out. */
export interface BatchRecord extends Omit<EditBatch, "edits"> {
  readonly v: 1;
  readonly type: "batch";
  /** What the window was estimated at before and after. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly degraded?: true;
  /** What the calls of the summarizer used. */
  readonly summaryUsage?: Usage;
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

/** The record of a batch, given the transcript before and after it. */
export function batchRecord(batch: EditBatch, moment: BatchMoment): BatchRecord {
  const { tokensBefore, tokensAfter, degraded, summaryUsage, arithmetic } = moment;
  const saved = savedTokensOf(batch.edits, moment);
  return {
    v: 1,
    type: "batch",
    ...batch,
    tokensBefore,
    tokensAfter,
    ...(degraded && { degraded }),
    ...(summaryUsage && { summaryUsage }),
    ...(arithmetic && { arithmetic: batchArithmetic(arithmetic) }),
    edits: batch.edits.map((edit, index) => ({
      edit,
      savedTokens: saved[index] ?? 0,
      handle: edit.omitted?.handle ?? editedMessageId(edit),
    })),
  };
}

interface BatchMoment {
  readonly before: Transcript;
  readonly after: Transcript;
  readonly estimate: MessageEstimateOptions;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly degraded?: true;
  readonly summaryUsage?: Usage;
  readonly arithmetic?: CacheArithmetic;
}

function batchArithmetic({ chosen, all: _, ...prices }: CacheArithmetic): BatchArithmetic {
  const { breakEvenTurns, ...sums } = chosen;
  return { ...prices, ...sums, ...(Number.isFinite(breakEvenTurns) && { breakEvenTurns }) };
}

/** The record in a value that was read from a journal; undefined for anything else. */
export function readRecord(value: unknown): SessionRecord | undefined {
  if (!isObject(value) || value.v !== 1) return undefined;
  if (value.type === "undo" || value.type === "drop") {
    const { type, batchId, at } = value;
    return typeof batchId === "string" ? { v: 1, type, batchId, at: Number(at) || 0 } : undefined;
  }
  if (value.type === "pending-summary" && isPendingSummary(value))
    return { ...value, v: 1, type: value.type, at: Number(value.at) || 0 };
  const { step, reason, at, tokensBefore, tokensAfter } = value;
  const isStep = typeof step === "string" && typeof reason === "string" && Number.isFinite(at);
  if (!isStep || !Number.isFinite(tokensBefore) || !Number.isFinite(tokensAfter)) return undefined;
  if (value.type === "step")
    return typeof value.outcome === "string" ? (value as unknown as SessionRecord) : undefined;
  if (value.type !== "batch" || typeof value.id !== "string" || !Array.isArray(value.edits)) return undefined;
  const isUsable = value.edits.every((item) => isObject(item) && isEdit(item.edit));
  return isUsable ? (value as unknown as BatchRecord) : undefined;
}

/** The batch of a record. */
export function batchOf({ id, step, reason, at, edits }: BatchRecord): EditBatch {
  return { id, step, reason, at, edits: edits.map(({ edit }) => edit) };
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

/** True for a value from outside that has the shape of an edit. */
function isEdit(value: unknown): value is Edit {
  if (!isObject(value) || typeof value.stage !== "string" || typeof value.reason !== "string") return false;
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

/** What was done in a session, as plain data to store: with the same messages it gives the same window. */
export interface SessionState {
  readonly v: 1;
  /** The edits in force, oldest first. */
  readonly batches: readonly EditBatch[];
  /** Tool summaries that were asked for and are not in the window yet. */
  readonly pendingSummaries?: readonly PendingSummary[];
  /** What refusals have shown of the models' windows; unset when nothing was refused. */
  readonly windows?: readonly LearnedWindow[];
}

/** What refusals have shown of one model's window. */
export interface LearnedWindow {
  /** `provider/model`; empty while the model is unknown. */
  readonly model: string;
  readonly windowTokens: number;
  /** Whether a refusal named the figure, or only its size shows that the window is smaller. */
  readonly figure: "named" | "assumed";
  /** How many tokens the provider counts for one of our estimate. */
  readonly countingFactor: number;
}

/** What a state that was kept elsewhere holds, and how much of it could not be read. */
export function readSessionState(value: unknown): ReadState {
  if (value === undefined || value === null) return { ...NO_STATE, unreadable: 0 };
  if (!isObject(value) || value.v !== 1 || !Array.isArray(value.batches)) return NO_STATE;
  const batches = value.batches.filter(isBatch);
  const pending = Array.isArray(value.pendingSummaries) ? value.pendingSummaries : [];
  return {
    batches,
    pendingSummaries: pending.filter(isPendingSummary),
    unreadable: value.batches.length - batches.length,
  };
}

interface ReadState extends Required<Omit<SessionState, "v" | "windows">> {
  readonly unreadable: number;
}

const NO_STATE: ReadState = { batches: [], pendingSummaries: [], unreadable: 1 };

function isBatch(value: unknown): value is EditBatch {
  if (!isObject(value)) return false;
  const { id, step, reason, at, edits } = value;
  const isNamed = typeof id === "string" && typeof step === "string" && typeof reason === "string";
  return isNamed && typeof at === "number" && Array.isArray(edits) && edits.every(isEdit);
}

/** What one step of a session gained. */
export interface LedgerEntry {
  readonly step: string;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly outcome: "applied" | "nothing" | "failed" | "aborted" | "undone";
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Set when the step was done without the model because that failed. */
  readonly degraded?: true;
  readonly note?: string;
  /** What the calls of the summarizer used since the entry before. */
  readonly summaryUsage?: Usage;
}

/** After this many compactions in a row without gain the session gives up. */
export const MAX_IDLE_COMPACTIONS = 2;
