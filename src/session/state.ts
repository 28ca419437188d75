import { decodeDelta, encodeDelta, type TextDelta } from "../text/delta.ts";
import { hashText, isObject } from "../text/json.ts";
import { type Edit, hideMessage } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import type { EditBatch } from "./history.ts";
import { isPendingSummary, type PendingSummary } from "./pending-summaries.ts";
import { isMessage, isPart } from "./source-messages.ts";
import type { StoredBindings } from "./thoughts.ts";

/** What was done in a session, as plain data to store: with the same messages it gives the same window. */
export interface SessionState {
  readonly v: 2;
  /** The edits in force, oldest first. What cannot be taken back any more is one batch. */
  readonly batches: readonly StoredBatch[];
  /** Tool summaries that were asked for and are not in the window yet. */
  readonly pendingSummaries?: readonly PendingSummary[];
  /** What refusals and answers have shown of the models' windows; unset when they showed nothing. */
  readonly windows?: readonly LearnedWindow[];
  /** What the thoughts of the model are bound to; unset when there are none and nothing was edited. */
  readonly thoughts?: StoredBindings;
}

/** What refusals and answers have shown of one model's window. */
export interface LearnedWindow {
  /** `provider/model`; empty while the model is unknown. */
  readonly model: string;
  readonly windowTokens: number;
  /**
   * `named` by a refusal; `assumed` to be smaller than what was refused; `accepted`: larger than was known, since the
   * provider took more.
   */
  readonly figure: "named" | "assumed" | "accepted";
  /** How many tokens the provider counts for one of our estimate. */
  readonly countingFactor: number;
}

/**
 * A batch as it is stored. What its edits take from the messages, or from the summary before, is named and not repeated,
 * so it can only be read together with them.
 */
export interface StoredBatch extends Omit<EditBatch, "edits"> {
  readonly edits: readonly StoredEdit[];
}

/** An edit as it is, or in fewer words. */
type StoredEdit =
  | Edit
  | HiddenRun
  | (Omit<Extract<Edit, { type: "replace-part" }>, "part"> & { readonly part: StoredValue })
  | (Omit<Extract<Edit, { type: "insert-message" }>, "message"> & { readonly message: StoredValue });

/** Hides messages that follow each other in the source. */
interface HiddenRun {
  readonly type: "hide-run";
  readonly first: MessageId;
  readonly last: MessageId;
  readonly count: number;
  /** Of all their ids: a run of other messages is not hidden. */
  readonly hash: number;
  readonly stage: string;
  readonly reason: string;
}

/** JSON as a difference from a text that the reader has, too. */
interface StoredValue {
  /** The hash of that text. */
  readonly base: number;
  readonly delta: TextDelta;
}

/** The batches as they are stored, given the owner's messages. */
export function storeBatches(batches: readonly EditBatch[], source: Transcript): readonly StoredBatch[] {
  const places = new Map(source.map(({ id }, index) => [id, index]));
  return batches.map((batch, index): StoredBatch => {
    const summary = newestSummary(batches.slice(0, index));
    return { ...batch, edits: storeEdits(batch.edits, { source, places, summary }) };
  });
}

/** One batch as it is stored behind others that are in force. */
export function storeBatch(batch: EditBatch, before: StoredOn): StoredBatch {
  const { source, batches } = before;
  const places = new Map(source.map(({ id }, index) => [id, index]));
  const summary = newestSummary(batches.filter((other) => other !== batch));
  return { ...batch, edits: storeEdits(batch.edits, { source, places, summary }) };
}

/** A batch that was stored; undefined where the messages, or the summary, that it was stored with are others now. */
export function restoreBatch(stored: StoredBatch, before: RestoredOn): EditBatch | undefined {
  const edits: Edit[] = [];
  const summary = newestSummary(before.batches);
  for (const edit of stored.edits) {
    const read = edit.type === "hide-run" ? readRun(edit, before) : readEdit(edit, { ...before, summary });
    if (read === undefined) return undefined;
    edits.push(...read);
  }
  return { ...stored, edits };
}

interface StoredOn {
  readonly source: Transcript;
  /** The batches in force before it. */
  readonly batches: readonly EditBatch[];
}

interface RestoredOn extends StoredOn {
  /** The messages with these batches. */
  readonly transcript: Transcript;
}

/** The newest summary that batches insert: most of what the next one carries stands in it. */
function newestSummary(batches: readonly EditBatch[]): string {
  for (const { edits } of batches.toReversed())
    for (const edit of edits.toReversed())
      if (edit.type === "insert-message" && edit.message.metadata?.carried !== undefined)
        return JSON.stringify(withoutPlace(edit.message));
  return "";
}

/** Where and when it was inserted may change while what it says does not. */
function withoutPlace({ createdAt: _, ...message }: Message): Message {
  return message;
}

interface StoreContext {
  readonly source: Transcript;
  readonly places: ReadonlyMap<MessageId, number>;
  readonly summary: string;
}

function storeEdits(edits: readonly Edit[], context: StoreContext): readonly StoredEdit[] {
  const stored: StoredEdit[] = [];
  for (let index = 0; index < edits.length; ) {
    const run = runAt(edits, index, context);
    const edit = edits[index] as Edit;
    stored.push(run?.hidden ?? storeEdit(edit, context));
    index += run?.hidden.count ?? 1;
  }
  return stored;
}

function storeEdit(edit: Edit, { source, places, summary }: StoreContext): StoredEdit {
  if (edit.type === "replace-part") {
    const base = partText(source[places.get(edit.messageId) ?? -1], edit.partIndex);
    return shorter(edit, { ...edit, part: storeValue(edit.part, base) });
  }
  if (edit.type === "insert-message")
    return shorter(edit, { ...edit, message: storeValue(edit.message, summary) });
  return edit;
}

function shorter(edit: Edit, stored: StoredEdit): StoredEdit {
  return JSON.stringify(stored).length < JSON.stringify(edit).length ? stored : edit;
}

function storeValue(value: unknown, base: string): StoredValue {
  return { base: hashText(base), delta: encodeDelta(JSON.stringify(value), base) };
}

/** Without what was not known of a call when older states were stored. */
function partText(message: Message | undefined, partIndex: number): string {
  const part = message?.parts[partIndex];
  return JSON.stringify(part?.type === "tool" ? { ...part, signed: undefined } : part) ?? "";
}

/** Hidden messages that follow each other in the source as they do here; undefined when naming each is shorter. */
function runAt(
  edits: readonly Edit[],
  start: number,
  { source, places }: StoreContext,
): { readonly hidden: HiddenRun } | undefined {
  const first = edits[start] as Edit;
  const place = first.type === "hide-message" ? places.get(first.messageId) : undefined;
  if (first.type !== "hide-message" || place === undefined) return undefined;
  const { stage, reason } = first;
  let count = 1;
  for (; ; count++) {
    const next = edits[start + count];
    if (next?.type !== "hide-message" || next.messageId !== source[place + count]?.id) break;
    if (next.stage !== stage || next.reason !== reason) break;
  }
  if (count < MIN_RUN) return undefined;
  const run = source.slice(place, place + count).map(({ id }) => id);
  const ends = { first: first.messageId, last: run.at(-1) ?? first.messageId };
  return { hidden: { type: "hide-run", ...ends, count, hash: hashText(run.join(" ")), stage, reason } };
}

const MIN_RUN = 2;

function readRun(
  { first, last, count, hash, stage, reason }: HiddenRun,
  { source, transcript }: RestoredOn,
): readonly Edit[] | undefined {
  const start = source.findIndex(({ id }) => id === first);
  const ids = start === -1 ? [] : source.slice(start, start + count).map(({ id }) => id);
  if (ids.length !== count || ids.at(-1) !== last || hashText(ids.join(" ")) !== hash) return undefined;
  const wanted = new Set(ids);
  return transcript
    .filter(({ id }) => wanted.has(id))
    .map((message) => hideMessage(message, { stage, reason }));
}

/** The edit as a list of one; undefined where it cannot be read with these messages. */
function readEdit(
  edit: Exclude<StoredEdit, HiddenRun>,
  { source, summary }: RestoredOn & { readonly summary: string },
): readonly Edit[] | undefined {
  if (isEdit(edit)) return [edit];
  if (edit.type === "replace-part") {
    const message = source.find(({ id }) => id === edit.messageId);
    const whole: unknown = { ...edit, part: readValue(edit.part, partText(message, edit.partIndex)) };
    return isEdit(whole) ? [whole] : undefined;
  }
  if (edit.type !== "insert-message") return undefined;
  const whole: unknown = { ...edit, message: readValue(edit.message, summary) };
  return isEdit(whole) ? [whole] : undefined;
}

function readValue(stored: unknown, base: string): unknown {
  if (!isStoredValue(stored) || stored.base !== hashText(base)) return undefined;
  try {
    return JSON.parse(decodeDelta(stored.delta, base) ?? "") as unknown;
  } catch {
    return undefined;
  }
}

/** What a state that was kept elsewhere holds, and how much of it could not be read. */
export function readSessionState(value: unknown): ReadState {
  if (value === undefined || value === null) return { ...NO_STATE, unreadable: 0 };
  // In the first version every edit stood there as it is.
  const isKnown = isObject(value) && (value.v === 1 || value.v === 2);
  if (!isKnown || !Array.isArray(value.batches)) return NO_STATE;
  const batches = value.batches.filter(isStoredBatch);
  const pending = Array.isArray(value.pendingSummaries) ? value.pendingSummaries : [];
  return {
    batches,
    pendingSummaries: pending.filter(isPendingSummary),
    unreadable: value.batches.length - batches.length,
  };
}

interface ReadState extends Required<Omit<SessionState, "v" | "windows" | "thoughts">> {
  readonly unreadable: number;
}

const NO_STATE: ReadState = { batches: [], pendingSummaries: [], unreadable: 1 };

/** True for a value from outside that has the shape of a stored batch. */
export function isStoredBatch(value: unknown): value is StoredBatch {
  if (!isObject(value)) return false;
  const { id, step, reason, at, edits } = value;
  const isNamed = typeof id === "string" && typeof step === "string" && typeof reason === "string";
  return isNamed && typeof at === "number" && Array.isArray(edits) && edits.every(isStoredEdit);
}

function isStoredEdit(value: unknown): boolean {
  if (isEdit(value)) return true;
  if (!isObject(value) || typeof value.stage !== "string" || typeof value.reason !== "string") return false;
  if (value.type === "hide-run")
    return [value.first, value.last].every((id) => typeof id === "string") && isIndex(value.count);
  if (value.type === "replace-part")
    return typeof value.messageId === "string" && isIndex(value.partIndex) && isStoredValue(value.part);
  return value.type === "insert-message" && isPlace(value.after) && isStoredValue(value.message);
}

function isStoredValue(value: unknown): value is StoredValue {
  return isObject(value) && typeof value.base === "number" && Array.isArray(value.delta);
}

/** True for a value from outside that has the shape of an edit. */
export function isEdit(value: unknown): value is Edit {
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
