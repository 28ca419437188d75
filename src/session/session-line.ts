import type { Edit } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { type BaseChange, createBaseLine } from "./base-line.ts";
import { applyBatch, type EditBatch, targetsOf } from "./edit-batch.ts";
import { createWindow, type Window } from "./window.ts";

/** A base transcript, the batches of edits in force, and the window that both make; kept up to date message by message. */
export interface SessionLine {
  append(message: Message): LineChange;
  observe(transcript: Transcript): LineChange;
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
  window(): Window;
  /** Every edit that makes the window out of the base. */
  edits(): readonly Edit[];
}

/** What a change of the base did. */
export interface LineChange {
  /** Messages that are new or different, oldest first. */
  readonly changed: Transcript;
  /** `grown`: at the end only. `replaced`: also something near the end. `rebuilt`: anything may be different. */
  readonly extent: "same" | "grown" | "replaced" | "rebuilt";
  /** Batches that spoke of messages which are gone. */
  readonly dropped: readonly EditBatch[];
}

/** A line without messages and batches. */
export function createSessionLine(): SessionLine {
  const base = createBaseLine();
  const window = createWindow();
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

  function follow({ firstChangedIndex, isOnlyLonger }: BaseChange, lengthBefore: number): LineChange {
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
