import { deepEqual } from "../text/deep-equal.ts";
import { decodeDelta, encodeDelta, type TextDelta } from "../text/delta.ts";
import { hashText } from "../text/hash-text.ts";
import { isObject, omitUndefined, type UnknownObject } from "../text/unknown-value.ts";
import { type Edit, hideMessage } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { type EditBatch, findMessage } from "./history.ts";
import { isPendingSummary, type PendingSummary } from "./pending-summaries.ts";
import { isMessage, isPart } from "./source-messages.ts";
import { restOf, type StoredRest } from "./stored-rest.ts";
import { type StoredBindings, storeBindings } from "./thoughts.ts";
import type { SessionView } from "./view.ts";

/**
 * The state of a session as plain data to store: everything that a decision reads, but the messages, which their owner has.
 * With the same messages it gives the same session.
 */
export interface StoredState {
  readonly v: 3;
  /** The edits in force, oldest first. What cannot be taken back any more is one batch. */
  readonly batches: readonly StoredBatch[];
  /** Tool summaries that were asked for and are not in the window yet. */
  readonly pendingSummaries?: readonly PendingSummary[];
  /** What the thoughts of the model are bound to; unset when there are none and nothing was edited. */
  readonly thoughts?: StoredBindings;
  /** All the rest that is not as in a new session; unset when nothing is. */
  readonly rest?: StoredRest;
}

/**
 * A batch as it is stored. What its edits take from the messages, or from the summary before, is named and not repeated,
 * so it can only be read together with them.
 */
export interface StoredBatch extends Omit<EditBatch, "edits"> {
  readonly edits: readonly StoredEdit[];
}

/** An edit as it is, or in fewer words. */
export type StoredEdit =
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
  /** What each of them takes out of the window; unset in states of earlier versions. */
  readonly chars?: readonly number[];
  readonly stage: string;
  readonly reason: string;
}

/** JSON as a difference from a text that the reader has, too. */
interface StoredValue {
  /** The hash of that text. */
  readonly base: number;
  readonly delta: TextDelta;
  /** Set where the text is the output of the call itself: the part is that of the message, with these fields changed. */
  readonly changed?: UnknownObject;
}

/** The batches as they are stored, given the owner's messages. */
function storeBatches(batches: readonly EditBatch[], source: Transcript): readonly StoredBatch[] {
  const places = placesOf(source);
  return batches.map((batch, index): StoredBatch => {
    const summary = newestSummary(batches.slice(0, index));
    return { ...batch, edits: storeEdits(batch.edits, { source, places, summary }) };
  });
}

/** One batch as it is stored behind others that are in force. */
export function storeBatch(batch: EditBatch, before: StoredOn): StoredBatch {
  const { source, batches } = before;
  const places = placesOf(source);
  const summary = newestSummary(batches.filter((other) => other !== batch));
  return { ...batch, edits: storeEdits(batch.edits, { source, places, summary }) };
}

/** A batch that was stored; undefined where the messages, or the summary, that it was stored with are others now. */
export function restoreBatch(stored: StoredBatch, before: RestoredOn): EditBatch | undefined {
  const edits = readEdits(stored, before);
  return edits.every((read) => read !== undefined) ? { ...stored, edits: edits.flat() } : undefined;
}

/** What each edit of a stored batch is with these messages; undefined where it cannot be read with them. */
export function readEdits(
  { edits }: StoredBatch,
  before: RestoredOn,
): readonly (readonly Edit[] | undefined)[] {
  const summary = newestSummary(before.batches);
  const context = {
    ...before,
    places: placesOf(before.source),
    summary: { text: summary, hash: hashText(summary) },
  };
  return edits.map((edit) => (edit.type === "hide-run" ? readRun(edit, context) : readEdit(edit, context)));
}

/** How many edits a stored batch stands for. */
export function editCount({ edits }: StoredBatch): number {
  return edits.reduce((sum, edit) => sum + (edit.type === "hide-run" ? edit.count : 1), 0);
}

interface StoredOn {
  readonly source: Transcript;
  /** The batches in force before it. */
  readonly batches: readonly EditBatch[];
}

interface RestoredOn extends StoredOn {
  /** The messages with these batches; asked for only where that is needed. */
  readonly transcript: () => Transcript;
  /** The texts of parts that batches read before this one have read: many edit the same part. */
  readonly texts?: Map<Part, BaseText>;
}

interface RestoreContext extends RestoredOn {
  readonly places: ReadonlyMap<MessageId, number>;
  readonly summary: BaseText;
}

/** A text from which another one takes pieces. */
interface BaseText {
  readonly text: string;
  readonly hash: number;
}

const places = new WeakMap<Transcript, ReadonlyMap<MessageId, number>>();

/** Where each message stands; read once for each list. */
function placesOf(transcript: Transcript): ReadonlyMap<MessageId, number> {
  const known = places.get(transcript) ?? new Map(transcript.map(({ id }, index) => [id, index]));
  places.set(transcript, known);
  return known;
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
    const part = source[places.get(edit.messageId) ?? -1]?.parts[edit.partIndex];
    return shorter(edit, {
      ...edit,
      part: storeOutput(edit.part, part) ?? storeValue(edit.part, partText(part)),
    });
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

/** A part of which little but the output was changed; undefined where more was. */
function storeOutput(part: Part, source: Part | undefined): StoredValue | undefined {
  const [now, before] = [outputOf(part), outputOf(source)];
  if (now === undefined || before === undefined || source === undefined) return undefined;
  const known = source as unknown as UnknownObject;
  const changed = Object.fromEntries(
    Object.entries(part).filter(([name, value]) => name !== "outcome" && !deepEqual(value, known[name])),
  );
  const stored = { base: hashText(before), delta: encodeDelta(now, before), changed };
  // Other fields of the outcome, or their order, may be others.
  return JSON.stringify(withOutput(source, now, changed)) === JSON.stringify(part) ? stored : undefined;
}

function outputOf(part: Part | undefined): string | undefined {
  return part?.type === "tool" && part.outcome.status === "done" ? part.outcome.output : undefined;
}

function withOutput(source: Part, output: string, changed: UnknownObject): unknown {
  return source.type !== "tool" ? source : { ...source, outcome: { ...source.outcome, output }, ...changed };
}

/** Without what was not known of a call when older states were stored. */
function partText(part: Part | undefined): string {
  return (
    JSON.stringify(
      part?.type === "tool" && part.signed !== undefined ? { ...part, signed: undefined } : part,
    ) ?? ""
  );
}

/** Hidden messages that follow each other in the source as they do here; undefined when naming each is shorter. */
function runAt(
  edits: readonly Edit[],
  start: number,
  { source, places }: StoreContext,
): { readonly hidden: HiddenRun } | undefined {
  const first = edits[start] as Edit;
  const place = first.type === "hide-message" ? places.get(first.messageId) : undefined;
  if (first.type !== "hide-message" || place === undefined || !isWhole(first)) return undefined;
  const { stage, reason } = first;
  let count = 1;
  for (; ; count++) {
    const next = edits[start + count];
    if (next?.type !== "hide-message" || next.messageId !== source[place + count]?.id) break;
    if (!isWhole(next) || next.stage !== stage || next.reason !== reason) break;
  }
  if (count < MIN_RUN) return undefined;
  const run = source.slice(place, place + count).map(({ id }) => id);
  const ends = { first: first.messageId, last: run.at(-1) ?? first.messageId };
  const chars = edits.slice(start, start + count).map(({ omitted }) => omitted?.chars ?? 0);
  return {
    hidden: { type: "hide-run", ...ends, count, hash: hashText(run.join(" ")), chars, stage, reason },
  };
}

const MIN_RUN = 2;

/** True for an edit that says what it leaves out as `hideMessage` does. */
function isWhole({ omitted, messageId }: Extract<Edit, { type: "hide-message" }>): boolean {
  return omitted?.handle === messageId;
}

function readRun(
  { first, last, count, hash, chars, stage, reason }: HiddenRun,
  { source, places, transcript }: RestoreContext,
): readonly Edit[] | undefined {
  const start = places.get(first);
  const ids = start === undefined ? [] : source.slice(start, start + count).map(({ id }) => id);
  if (ids.length !== count || ids.at(-1) !== last || hashText(ids.join(" ")) !== hash) return undefined;
  if (chars?.length === count)
    return ids.map((messageId, index) => ({
      type: "hide-message",
      messageId,
      stage,
      reason,
      omitted: { chars: Number(chars[index]), handle: messageId },
    }));
  const edited = transcript();
  const indexes = ids.flatMap((id) => placesOf(edited).get(id) ?? []).sort((one, other) => one - other);
  return indexes.map((index) => hideMessage(edited[index] as Message, { stage, reason }));
}

/** The edit as a list of one; undefined where it cannot be read with these messages. */
function readEdit(
  edit: Exclude<StoredEdit, HiddenRun>,
  { source, places, summary, texts }: RestoreContext,
): readonly Edit[] | undefined {
  if (isEdit(edit)) return [edit];
  if (edit.type === "replace-part") {
    const part = source[places.get(edit.messageId) ?? -1]?.parts[edit.partIndex];
    const { changed } = isStoredValue(edit.part) ? edit.part : {};
    const read = changed ? readOutput(edit.part, part, changed) : readValue(edit.part, baseOf(part, texts));
    const whole: unknown = { ...edit, part: read };
    return isEdit(whole) ? [whole] : undefined;
  }
  if (edit.type !== "insert-message") return undefined;
  const whole: unknown = { ...edit, message: readValue(edit.message, summary) };
  return isEdit(whole) ? [whole] : undefined;
}

function baseOf(part: Part | undefined, texts: Map<Part, BaseText> | undefined): BaseText {
  const known = part && texts?.get(part);
  if (known !== undefined) return known;
  const text = partText(part);
  const base = { text, hash: hashText(text) };
  if (part !== undefined) texts?.set(part, base);
  return base;
}

function readOutput({ base, delta }: StoredValue, source: Part | undefined, changed: UnknownObject): unknown {
  const before = outputOf(source);
  if (source === undefined || before === undefined || hashText(before) !== base) return undefined;
  const output = decodeDelta(delta, before);
  return output === undefined ? undefined : withOutput(source, output, changed);
}

function readValue(stored: unknown, base: BaseText): unknown {
  if (!isStoredValue(stored) || stored.base !== base.hash) return undefined;
  try {
    return JSON.parse(decodeDelta(stored.delta, base.text) ?? "") as unknown;
  } catch {
    return undefined;
  }
}

/** The state as it is stored. */
export function storedState(view: SessionView): StoredState {
  const { state } = view;
  const { history, pending } = state;
  const rest = restOf(view);
  const batches = storeBatches(history.batches, history.messages);
  const there = new Set(history.messages.map(({ id }) => id));
  const bindings = storeBindings(
    state.thoughts,
    (id) => there.has(id) || findMessage(history, id) !== undefined,
  );
  // Without them a reader takes the thoughts for older than the edits.
  const thoughts = bindings ?? (batches.length > 0 ? { bound: [] } : undefined);
  return {
    v: 3,
    batches,
    ...(pending.length > 0 && { pendingSummaries: pending }),
    ...omitUndefined({ thoughts, rest }),
  };
}

/** What a state that was kept elsewhere holds, and how much of it could not be read. */
export function readStoredState(value: unknown): ReadState {
  if (value === undefined || value === null) return { ...NO_STATE, unreadable: 0 };
  // In the first version every edit stood there as it is; in the second there was no rest.
  const isKnown = isObject(value) && (value.v === 1 || value.v === 2 || value.v === 3);
  if (!isKnown || !Array.isArray(value.batches)) return NO_STATE;
  const batches = value.batches.filter(isStoredBatch);
  const pending = Array.isArray(value.pendingSummaries) ? value.pendingSummaries : [];
  return {
    batches,
    pendingSummaries: pending.filter(isPendingSummary),
    thoughts: value.thoughts,
    rest: value.v === 3 ? (value.rest ?? {}) : undefined,
    windows: value.windows,
    unreadable: value.batches.length - batches.length,
  };
}

/** What was read of a stored state; what is unknown is checked where it is used. */
export interface ReadState {
  readonly batches: readonly StoredBatch[];
  readonly pendingSummaries: readonly PendingSummary[];
  readonly thoughts: unknown;
  /** Undefined in a state of an earlier version. */
  readonly rest: unknown;
  /** Learned windows, as earlier versions had them. */
  readonly windows: unknown;
  readonly unreadable: number;
}

const NO_STATE: ReadState = {
  batches: [],
  pendingSummaries: [],
  thoughts: undefined,
  rest: undefined,
  windows: undefined,
  unreadable: 1,
};

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
  const isChanged = isObject(value) && (value.changed === undefined || isObject(value.changed));
  return isChanged && typeof value.base === "number" && Array.isArray(value.delta);
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
