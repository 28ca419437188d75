import { deepEqual, isObject, type UnknownObject } from "../text/json.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import { type Message, type MessageId, type Transcript, withUniqueIds } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { type ContextWindow, createContextWindow } from "./window.ts";

/** A base transcript, the batches of edits in force, and the window that both make; kept up to date message by message. */
export interface History {
  append(message: Message): HistoryChange;
  observe(transcript: Transcript): HistoryChange;
  /** Puts a batch in force; false when it speaks of messages that are gone. */
  add(batch: EditBatch): boolean;
  /** Takes a batch out of force, and those that were built on it. */
  remove(id: string): { readonly removed: EditBatch; readonly dropped: readonly EditBatch[] } | undefined;
  batches(): readonly EditBatch[];
  base(): Transcript;
  /** A message of the base, also when it has left it, or one that a batch in force inserted. */
  find(id: MessageId): Message | undefined;
  /** The base with all batches in force; what is hidden is in it, marked. */
  transcript(): Transcript;
  window(): ContextWindow;
  /** Every edit that makes the window out of the base. */
  edits(): readonly Edit[];
}

/** What a change of the base did. */
export interface HistoryChange {
  /** Messages that are new or different, oldest first. */
  readonly changed: Transcript;
  /** `grown`: at the end only. `replaced`: also something near the end. `rebuilt`: anything may be different. */
  readonly extent: "same" | "grown" | "replaced" | "rebuilt";
  /** Batches that spoke of messages which are gone. */
  readonly dropped: readonly EditBatch[];
}

/** A line without messages and batches. */
export function createHistory(): History {
  const base = createSourceMessages();
  const window = createContextWindow();
  let batches: readonly EditBatch[] = [];
  /** Everything the batches speak of: a message that comes back under such an id meets its edits again. */
  let spokenOf = new Set<MessageId>();
  let applied: Message[] = [];
  let snapshot: Transcript | undefined;
  /** Base messages from this index on stand unedited at the end of the line. */
  let untouchedFrom = 0;

  function setBatches(next: readonly EditBatch[]): void {
    batches = next;
    spokenOf = new Set(next.flatMap(({ edits }) => edits.flatMap(idsOf)));
  }

  function settle(transcript: Transcript): void {
    applied = [...transcript];
    snapshot = undefined;
    window.rebuild(applied);
    const messages = base.messages();
    let same = 0;
    while (same < messages.length && messages.at(-1 - same) === applied.at(-1 - same)) same++;
    untouchedFrom = messages.length - same;
  }

  function rebuild(): readonly EditBatch[] {
    const kept: EditBatch[] = [];
    const dropped: EditBatch[] = [];
    let transcript = base.messages();
    for (const batch of batches) {
      const next = applyBatch(transcript, batch);
      if (next === undefined) dropped.push(batch);
      else {
        transcript = next;
        kept.push(batch);
      }
    }
    setBatches(kept);
    settle(transcript);
    return dropped;
  }

  function takeOff(from: number): boolean {
    let isPopped = true;
    for (let count = applied.length - from; count > 0; count--) {
      const last = applied.pop();
      if (last !== undefined && isPopped) isPopped = window.pop(last);
    }
    return isPopped;
  }

  function follow({ firstChangedIndex, isOnlyLonger }: SourceChange, lengthBefore: number): HistoryChange {
    const messages = base.messages();
    const changed = messages.slice(firstChangedIndex);
    if (changed.length === 0 && isOnlyLonger) return { changed, extent: "same", dropped: [] };
    snapshot = undefined;
    const isEdited = changed.some(({ id }) => spokenOf.has(id));
    if (isEdited || (!isOnlyLonger && firstChangedIndex < untouchedFrom)) {
      return { changed, extent: "rebuilt", dropped: rebuild() };
    }
    let isKept = isOnlyLonger || takeOff(applied.length - (lengthBefore - firstChangedIndex));
    for (const message of changed) {
      applied.push(message);
      isKept &&= window.push(message);
    }
    if (!isKept) window.rebuild(applied);
    return { changed, extent: isOnlyLonger ? "grown" : "replaced", dropped: [] };
  }

  return {
    append(message) {
      const lengthBefore = base.messages().length;
      return follow(base.append(message), lengthBefore);
    },

    observe(transcript) {
      const lengthBefore = base.messages().length;
      return follow(base.observe(transcript), lengthBefore);
    },

    add(batch) {
      const next = applyBatch(applied, batch);
      if (next === undefined) return false;
      batches = [...batches, batch];
      for (const edit of batch.edits) for (const id of idsOf(edit)) spokenOf.add(id);
      settle(next);
      return true;
    },

    remove(id) {
      const removed = batches.find((batch) => batch.id === id);
      if (removed === undefined) return undefined;
      setBatches(batches.filter((batch) => batch !== removed));
      return { removed, dropped: rebuild() };
    },

    find(id) {
      return base.find(id) ?? inserted(batches, id);
    },

    transcript() {
      snapshot ??= applied.slice();
      return snapshot;
    },

    batches: () => batches,
    base: () => base.messages(),
    window: () => window,
    edits: () => [...batches.flatMap((batch) => batch.edits), ...window.edits()],
  };
}

function idsOf(edit: Edit): readonly MessageId[] {
  return edit.type === "insert-message" ? [...targetsOf(edit), edit.message.id] : targetsOf(edit);
}

function inserted(batches: readonly EditBatch[], id: MessageId): Message | undefined {
  for (const { edits } of batches) {
    for (const edit of edits)
      if (edit.type === "insert-message" && edit.message.id === id) return edit.message;
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

/** The transcript after a batch, or undefined when the batch speaks of messages that are gone. */
function applyBatch(transcript: Transcript, { edits, at }: EditBatch): Transcript | undefined {
  return hasTargets(edits, transcript) ? applyEdits(transcript, edits, { at }) : undefined;
}

/**
 * False when a batch stands for messages of which some are no longer there: the owner has taken them back, and a
 * summary of them must not stay. Hiding alone does no harm.
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

/** The transcript as its owner has it, before any edit of ours, with what changed since the last look. */
interface SourceMessages {
  /** All messages, oldest first; the list itself may grow later. */
  messages(): Transcript;
  find(id: MessageId): Message | undefined;
  /** Takes the next message; one with a known id takes that message's place. */
  append(message: Message): SourceChange;
  /** Takes the newest full list of a transcript that someone else owns. */
  observe(transcript: Transcript): SourceChange;
}

interface SourceChange {
  /** Messages from this index on are new or different; the length when nothing is. */
  readonly firstChangedIndex: number;
  /** True when nothing but the end grew. */
  readonly isOnlyLonger: boolean;
}

/** An empty base. Messages that leave an observed list can still be found, so that they can be recalled. */
function createSourceMessages(): SourceMessages {
  let messages: Message[] = [];
  const indexes = new Map<MessageId, number>();
  const departed = new Map<MessageId, Message>();

  function take(message: Message): void {
    indexes.set(message.id, messages.length);
    departed.delete(message.id);
    messages.push(message);
  }

  function dropFrom(index: number): void {
    for (const message of messages.slice(index)) {
      indexes.delete(message.id);
      departed.set(message.id, message);
    }
    // A list that was given away must not lose its end.
    messages = messages.slice(0, index);
  }

  /** Looks only at what differs from what is known: known ids are unique. */
  function hasRepeatedIds(transcript: Transcript, same: number): boolean {
    const seen = new Set<MessageId>();
    return transcript.slice(same).some(({ id }) => {
      if (seen.has(id) || (indexes.get(id) ?? same) < same) return true;
      seen.add(id);
      return false;
    });
  }

  return {
    messages: () => messages,

    find(id) {
      const index = indexes.get(id);
      return index === undefined ? departed.get(id) : messages[index];
    },

    append(given) {
      const [message] = sanitizeMessage(given);
      if (message === undefined) return unchanged(messages.length);
      const index = indexes.get(message.id);
      if (index === undefined) {
        take(message);
        return { firstChangedIndex: messages.length - 1, isOnlyLonger: true };
      }
      const old = messages[index];
      if (old === message || deepEqual(old, message)) return unchanged(messages.length);
      messages = messages.with(index, message);
      return { firstChangedIndex: index, isOnlyLonger: false };
    },

    observe(transcript) {
      const alike = firstDifference(messages, transcript);
      const given = readableFrom(transcript, alike);
      const isRepeating = hasRepeatedIds(given, alike);
      const newest = isRepeating ? withUniqueIds(given) : given;
      const same = isRepeating ? firstDifference(messages, newest) : alike;
      if (same === messages.length && same === newest.length) return unchanged(same);
      const isOnlyLonger = same === messages.length;
      if (isOnlyLonger) {
        for (const message of newest.slice(same)) take(message);
        return { firstChangedIndex: same, isOnlyLonger };
      }
      const known = new Map(messages.slice(same).map((message) => [message.id, message]));
      dropFrom(same);
      for (const message of newest.slice(same)) {
        const old = known.get(message.id);
        // The old object where it says the same: what was measured of it stays known.
        take(old !== undefined && deepEqual(old, message) ? old : message);
      }
      return { firstChangedIndex: same, isOnlyLonger };
    },
  };
}

/** What comes from outside may not be what its type says; what is known already was looked at. */
function readableFrom(transcript: Transcript, start: number): Transcript {
  const readable = transcript.slice(start).map(sanitizeMessage);
  const isAsGiven = readable.every(([message], index) => message === transcript[start + index]);
  return isAsGiven ? transcript : [...transcript.slice(0, start), ...readable.flat()];
}

function unchanged(length: number): SourceChange {
  return { firstChangedIndex: length, isOnlyLonger: true };
}

function firstDifference(messages: Transcript, newest: Transcript): number {
  const end = Math.min(messages.length, newest.length);
  for (let index = 0; index < end; index++) {
    const [old, message] = [messages[index], newest[index]];
    if (old !== message && !deepEqual(old, message)) return index;
  }
  return end;
}

/** True for a value from outside that is a message with nothing in it that could not be read. */
export function isMessage(value: unknown): value is Message {
  return hasMessageFields(value) && value.parts.every(isPart);
}

/** True for a value from outside that is a part of a message. */
export function isPart(value: unknown): value is Part {
  if (!isObject(value)) return false;
  switch (value.type) {
    case "text":
    case "reasoning":
      return typeof value.text === "string";
    case "tool":
      return typeof value.callId === "string" && typeof value.tool === "string" && isOutcome(value.outcome);
    case "file":
      return typeof value.mime === "string";
    case "compaction":
      return value.trigger === "auto" || value.trigger === "manual";
    case "opaque":
      return typeof value.name === "string";
    default:
      return false;
  }
}

/** What can be read of something given as a message: nothing of what is none, and of its parts those that are parts. */
function sanitizeMessage(given: Message): readonly Message[] {
  if (isMessage(given)) return [given];
  if (!hasMessageFields(given)) return [];
  const message: Message = given;
  // In its place, so that the parts behind it keep their handles.
  return [{ ...message, parts: message.parts.map((part) => (isPart(part) ? part : UNREADABLE)) }];
}

const UNREADABLE: Part = { type: "opaque", name: "unreadable" };

function hasMessageFields(value: unknown): value is UnknownObject & { readonly parts: readonly unknown[] } {
  return (
    isObject(value) &&
    typeof value.id === "string" &&
    typeof value.role === "string" &&
    Array.isArray(value.parts)
  );
}

function isOutcome(value: unknown): boolean {
  if (!isObject(value)) return false;
  if (value.status === "pending") return true;
  if (value.status === "failed") return typeof value.error === "string";
  const { status, output, attachments } = value;
  return (
    status === "done" && typeof output === "string" && Array.isArray(attachments) && attachments.every(isPart)
  );
}
