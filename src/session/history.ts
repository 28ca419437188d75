import { deepEqual } from "../text/json.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { createSourceMessages } from "./source-messages.ts";

/** The messages as their owner has them, and the batches of edits in force. */
export interface History {
  /** Takes the next message; one with a known id takes that message's place, and a result joins its call. */
  append(message: Message): HistoryChange;
  /** Takes the newest full list of messages that someone else owns. */
  observe(transcript: Transcript): HistoryChange;
  /** Puts a batch in force; false when messages that it needs are gone. */
  add(batch: EditBatch): boolean;
  /** Takes a batch out of force, and those that were built on it. */
  remove(id: string): void;
  /** Puts other batches in force in place of all; gives those that could not be, since messages are gone. */
  replace(batches: readonly EditBatch[]): readonly EditBatch[];
  batches(): readonly EditBatch[];
  /** True for the id of a batch in force. */
  hasBatch(id: string): boolean;
  /** The owner's messages, before any edit. */
  source(): Transcript;
  /** A message of the owner, also when it has left the list, or one that a batch in force inserted. */
  find(id: MessageId): Message | undefined;
  /** The messages with all batches applied; hidden content is in it, marked. The same list while nothing changes. */
  transcript(): Transcript;
}

/** What a change of the source messages did. */
export interface HistoryChange {
  /** Messages that are new or different, oldest first. */
  readonly changed: Transcript;
  /** `end`: only messages that no batch has edited. `rebuilt`: the batches were applied again. */
  readonly extent: "same" | "end" | "rebuilt";
  /** Batches that needed messages which are gone. */
  readonly dropped: readonly EditBatch[];
}

/** A history without messages and batches. */
export function createHistory(): History {
  const source = createSourceMessages();
  let batches: readonly EditBatch[] = [];
  /** Every message that a batch names: one that comes back under such an id is edited again. */
  let editedIds = new Set<MessageId>();
  /** Messages that the batches in force inserted. */
  let inserted = new Map<MessageId, Message>();
  let batchIds = new Set<string>();
  let transcript: Transcript = [];
  /** The beginning of the transcript up to the last edit, and how many source messages it stands for. */
  let head: Transcript = [];
  let headSourceCount = 0;

  function note({ id: batchId, edits }: EditBatch): void {
    batchIds.add(batchId);
    for (const edit of edits) {
      for (const id of namedIds(edit)) editedIds.add(id);
      if (edit.type === "insert-message" && !inserted.has(edit.message.id))
        inserted.set(edit.message.id, edit.message);
    }
  }

  function settle(nextBatches: readonly EditBatch[], edited: Transcript): void {
    batches = nextBatches;
    const messages = source.messages();
    let same = 0;
    while (same < messages.length && messages.at(-1 - same) === edited.at(-1 - same)) same++;
    head = edited.slice(0, edited.length - same);
    headSourceCount = messages.length - same;
  }

  /** Applies all batches again; gives those that could not be. */
  function rebuild(wanted: readonly EditBatch[]): readonly EditBatch[] {
    const kept = new Set<EditBatch>();
    editedIds = new Set();
    inserted = new Map();
    batchIds = new Set();
    const before = new Map(transcript.map((message) => [message.id, message]));
    transcript = source.messages();
    for (const batch of wanted) if (apply(batch)) kept.add(batch);
    // What is the same stays the same object, so that nobody measures it again.
    transcript = transcript.map((message) => {
      const known = before.get(message.id);
      return known !== undefined && deepEqual(known, message) ? known : message;
    });
    settle([...kept], transcript);
    return wanted.filter((batch) => !kept.has(batch));
  }

  /** False when messages that the batch needs are gone. */
  function apply(batch: EditBatch): boolean {
    const next = applyToEnd(batch) ?? applyBatch(transcript, batch);
    if (next === undefined) return false;
    note(batch);
    transcript = next;
    return true;
  }

  /** The same as `applyBatch`, reading only what stands behind the first message that is edited; undefined when that is not enough. */
  function applyToEnd({ edits, at }: EditBatch): Transcript | undefined {
    const isNew = (edit: Edit): boolean =>
      edit.type !== "insert-message" ||
      (edit.after !== null && source.find(edit.message.id) === undefined && !inserted.has(edit.message.id));
    const own = new Set(edits.flatMap((edit) => (edit.type === "insert-message" ? [edit.message.id] : [])));
    const start = firstIndexOf(transcript, new Set(edits.flatMap(targetsOf).filter((id) => !own.has(id))));
    if (start === undefined || !edits.every(isNew)) return undefined;
    return transcript.slice(0, start).concat(applyEdits(transcript.slice(start), edits, { at }));
  }

  function follow(firstChanged: number | undefined): HistoryChange {
    if (firstChanged === undefined) return { changed: [], extent: "same", dropped: [] };
    const messages = source.messages();
    const changed = messages.slice(firstChanged);
    if (firstChanged < headSourceCount || changed.some(({ id }) => editedIds.has(id)))
      return { changed, extent: "rebuilt", dropped: rebuild(batches) };
    transcript = head.length === 0 ? messages : head.concat(messages.slice(headSourceCount));
    return { changed, extent: "end", dropped: [] };
  }

  return {
    append: (message) => follow(source.append(message)),
    observe: (given) => follow(source.observe(given)),

    add(batch) {
      if (!apply(batch)) return false;
      settle([...batches, batch], transcript);
      return true;
    },

    remove(id) {
      rebuild(batches.filter((batch) => batch.id !== id));
    },

    replace: rebuild,
    find: (id) => source.find(id) ?? inserted.get(id),
    transcript: () => transcript,
    batches: () => batches,
    hasBatch: (id) => batchIds.has(id),
    source: source.messages,
  };
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

/** The transcript after a batch, or undefined when messages that the batch needs are gone. */
function applyBatch(transcript: Transcript, { edits, at }: EditBatch): Transcript | undefined {
  return hasTargets(edits, transcript) ? applyEdits(transcript, edits, { at }) : undefined;
}

/**
 * False when a batch that inserts or moves messages names some that the owner has removed: a summary of removed
 * messages must not stay. A batch that only hides can always be applied.
 */
export function hasTargets(edits: readonly Edit[], transcript: Transcript): boolean {
  if (!edits.some((edit) => edit.type === "insert-message" || edit.type === "move-message")) return true;
  const ids = new Set(transcript.map((message) => message.id));
  return edits.every((edit) => {
    const isThere = targetsOf(edit).every((id) => ids.has(id));
    if (edit.type === "insert-message") ids.add(edit.message.id);
    return isThere;
  });
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
