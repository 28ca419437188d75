import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { withUniqueIds } from "../transcript/unique-ids.ts";
import { readableMessage } from "./message-shape.ts";
import { sameValue } from "./same-value.ts";

/** The transcript as its owner has it, before any edit of ours, with what changed since the last look. */
export interface BaseLine {
  /** All messages, oldest first; the list itself may grow later. */
  messages(): Transcript;
  find(id: MessageId): Message | undefined;
  /** Takes the next message; one with a known id takes that message's place. */
  append(message: Message): BaseChange;
  /** Takes the newest full list of a transcript that someone else owns. */
  observe(transcript: Transcript): BaseChange;
}

export interface BaseChange {
  /** Messages from this index on are new or different; the length when nothing is. */
  readonly firstChangedIndex: number;
  /** True when nothing but the end grew. */
  readonly isOnlyLonger: boolean;
}

/** An empty base. Messages that leave an observed list can still be found, so that they can be recalled. */
export function createBaseLine(): BaseLine {
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
      const [message] = readableMessage(given);
      if (message === undefined) return unchanged(messages.length);
      const index = indexes.get(message.id);
      if (index === undefined) {
        take(message);
        return { firstChangedIndex: messages.length - 1, isOnlyLonger: true };
      }
      const old = messages[index];
      if (old === message || sameValue(old, message)) return unchanged(messages.length);
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
        take(old !== undefined && sameValue(old, message) ? old : message);
      }
      return { firstChangedIndex: same, isOnlyLonger };
    },
  };
}

/** What comes from outside may not be what its type says; what is known already was looked at. */
function readableFrom(transcript: Transcript, start: number): Transcript {
  const readable = transcript.slice(start).map(readableMessage);
  const isAsGiven = readable.every(([message], index) => message === transcript[start + index]);
  return isAsGiven ? transcript : [...transcript.slice(0, start), ...readable.flat()];
}

function unchanged(length: number): BaseChange {
  return { firstChangedIndex: length, isOnlyLonger: true };
}

function firstDifference(messages: Transcript, newest: Transcript): number {
  const end = Math.min(messages.length, newest.length);
  for (let index = 0; index < end; index++) {
    const [old, message] = [messages[index], newest[index]];
    if (old !== message && !sameValue(old, message)) return index;
  }
  return end;
}
