import { deepEqual } from "../text/deep-equal.ts";
import { applyBatches, type Edit } from "../transcript/edit.ts";
import { commonLength, type Message, type MessageId, type Transcript } from "../transcript/message.ts";
import { appendTo, observeIn } from "./source-messages.ts";

/** The messages as their owner has them, and the edits in force. A value: every change gives another one. */
export interface History {
  /** The owner's messages, before any edit. */
  readonly messages: Transcript;
  readonly batches: readonly EditBatch[];
  /** The messages with all batches applied; hidden content is in it, marked. */
  readonly transcript: Transcript;
}

/** Edits that were decided together: they are applied, journalled and undone as one. */
export interface EditBatch {
  readonly id: string;
  /** Which step made it, such as `prune` or `compact`. */
  readonly step: string;
  /** Why the step was taken. */
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly edits: readonly Edit[];
}

/** A history without messages and batches. */
export const EMPTY_HISTORY: History = { messages: [], batches: [], transcript: [] };

/** A history after its owner's messages changed, and what changed. */
export interface HistoryChange {
  readonly history: History;
  /** Messages that are new or different, oldest first. */
  readonly changed: Transcript;
  /** `end`: only messages that no batch has edited. `rebuilt`: the batches were applied again. */
  readonly extent: "same" | "end" | "rebuilt";
  /** Batches that needed messages which are gone. */
  readonly dropped: readonly EditBatch[];
  /** Messages that have left the owner's list. */
  readonly gone: Transcript;
}

/** The history with the next message; one with a known id takes that message's place, and a result joins its call. */
export function appendMessage(history: History, message: Message): HistoryChange {
  return withMessages(history, appendTo(history.messages, message));
}

/** The history with the newest full list of messages that someone else owns. */
export function observeMessages(history: History, transcript: Transcript): HistoryChange {
  return withMessages(history, observeIn(history.messages, transcript));
}

function withMessages(before: History, messages: Transcript): HistoryChange {
  if (messages === before.messages)
    return { history: before, changed: [], extent: "same", dropped: [], gone: [] };
  const { batches } = before;
  const same = commonLength(before.messages, messages);
  const [older, newer] = [before.messages.slice(same), messages.slice(same)];
  const [known, ids] = [new Set(older), new Set(newer.map(({ id }) => id))];
  const changed = newer.filter((message) => !known.has(message));
  const gone = older.filter(({ id }) => !ids.has(id));
  if (isEdited(before, older) || newer.some(({ id }) => isNamed(batches, id)))
    return { ...withBatches({ ...before, messages }, batches), changed, extent: "rebuilt", gone };
  const kept = before.transcript.slice(0, before.transcript.length - older.length);
  const transcript = batches.length === 0 ? messages : kept.concat(newer);
  return { history: { messages, batches, transcript }, changed, extent: "end", dropped: [], gone };
}

/** True unless the newest messages stand at the end of the transcript as they are, and no edit speaks of them. */
function isEdited({ batches, transcript }: History, newest: Transcript): boolean {
  const start = transcript.length - newest.length;
  return (
    batches.length > 0 &&
    newest.some((message, index) => transcript[start + index] !== message || isNamed(batches, message.id))
  );
}

/** True for a message that an edit names: one that comes back under such an id is edited again. */
function isNamed(batches: readonly EditBatch[], id: MessageId): boolean {
  return batches.some((batch) => namesOf(batch).has(id));
}

const names = new WeakMap<EditBatch, ReadonlySet<MessageId>>();

/** A batch never changes, and may be large, so each is read once. */
function namesOf(batch: EditBatch): ReadonlySet<MessageId> {
  const known = names.get(batch) ?? new Set(batch.edits.flatMap(namedIds));
  names.set(batch, known);
  return known;
}

/** A history after its batches changed, and those that needed messages which are gone. */
export interface BatchesChange {
  readonly history: History;
  readonly dropped: readonly EditBatch[];
}

/** The history with one more batch in force; undefined when messages that it needs are gone. */
export function withBatch(history: History, batch: EditBatch): History | undefined {
  const { messages, batches, transcript } = history;
  const start = startOfEdits(transcript, batch.edits);
  const end = start === 0 ? transcript : transcript.slice(start);
  if (!hasTargets(batch.edits, end)) return undefined;
  const edited = applyBatches(end, [batch]);
  return {
    messages,
    batches: [...batches, batch],
    transcript: start === 0 ? edited : transcript.slice(0, start).concat(edited),
  };
}

/** Before this place nothing has to be read to apply some edits: most are of the newest messages. 0 where that is not known. */
function startOfEdits(transcript: Transcript, edits: readonly Edit[]): number {
  const inserted = new Set(
    edits.flatMap((edit) => (edit.type === "insert-message" ? [edit.message.id] : [])),
  );
  const isAnywhere =
    edits.some((edit) => needsTargets(edit) && "after" in edit && edit.after === null) ||
    (inserted.size > 0 && transcript.some(({ id }) => inserted.has(id)));
  const targets = edits.flatMap(targetsOf).filter((id) => !inserted.has(id));
  return isAnywhere ? 0 : (firstIndexOf(transcript, new Set(targets)) ?? 0);
}

/** The history without a batch, and without those that were built on it. */
export function withoutBatch(history: History, id: string): BatchesChange {
  return withBatches(
    history,
    history.batches.filter((batch) => batch.id !== id),
  );
}

/** The history with other batches in force in place of all. What is the same as before stays the same object. */
export function withBatches({ messages, transcript }: History, wanted: readonly EditBatch[]): BatchesChange {
  const ids = new Set(messages.map(({ id }) => id));
  const batches = wanted.filter(({ edits }) => findTargets(edits, ids));
  const before = new Map(transcript.map((message) => [message.id, message]));
  const edited = applyBatches(messages, batches).map((message) => {
    const known = before.get(message.id);
    return known !== undefined && deepEqual(known, message) ? known : message;
  });
  const isSame = edited.length === transcript.length && commonLength(edited, transcript) === edited.length;
  const kept = new Set(batches);
  return {
    history: { messages, batches, transcript: isSame ? transcript : edited },
    dropped: wanted.filter((batch) => !kept.has(batch)),
  };
}

/** A message of the owner, or one that a batch in force inserted. */
export function findMessage({ messages, batches }: History, id: MessageId): Message | undefined {
  const own = messages.findLast((message) => message.id === id);
  if (own !== undefined) return own;
  for (const { edits } of batches)
    for (const edit of edits)
      if (edit.type === "insert-message" && edit.message.id === id) return edit.message;
  return undefined;
}

function namedIds(edit: Edit): readonly MessageId[] {
  return edit.type === "insert-message" ? [...targetsOf(edit), edit.message.id] : targetsOf(edit);
}

/** Where the first of these messages stands, searched from the end; undefined when one of them is not there. */
export function firstIndexOf(transcript: Transcript, ids: ReadonlySet<MessageId>): number | undefined {
  let left = ids.size;
  for (let index = transcript.length - 1; index >= 0 && left > 0; index--) {
    if (!ids.has((transcript[index] as Message).id)) continue;
    left--;
    if (left === 0) return index;
  }
  return undefined;
}

/**
 * False when a batch that inserts or moves messages names some that the owner has removed: a summary of removed
 * messages must not stay. A batch that only hides can always be applied.
 */
export function hasTargets(edits: readonly Edit[], transcript: Transcript): boolean {
  return findTargets(edits, new Set(transcript.map(({ id }) => id)));
}

/** The same for edits of messages with these ids; those that the edits insert are added, where they can be applied. */
export function findTargets(edits: readonly Edit[], ids: Set<MessageId>): boolean {
  const inserted = new Set<MessageId>();
  const isEach = edits.every((edit) => {
    const isThere = targetsOf(edit).every((id) => ids.has(id) || inserted.has(id));
    if (edit.type === "insert-message") inserted.add(edit.message.id);
    return isThere;
  });
  const areFound = isEach || !edits.some(needsTargets);
  if (areFound) for (const id of inserted) ids.add(id);
  return areFound;
}

function needsTargets({ type }: Edit): boolean {
  return type === "insert-message" || type === "move-message";
}

/** The messages that an edit needs to find. */
export function targetsOf(edit: Edit): readonly MessageId[] {
  switch (edit.type) {
    case "insert-message":
      return edit.after === null ? [] : [edit.after];
    case "move-message":
      return edit.after === null ? [edit.messageId] : [edit.messageId, edit.after];
    case "hide-message":
    case "hide-part":
    case "replace-part":
      return [edit.messageId];
    default:
      edit satisfies never;
      return [];
  }
}
