import type { Message, Transcript } from "../../../transcript/message.ts";
import type { Part } from "../../../transcript/part.ts";

/** Gives a transcript as it was at an earlier time: what was cleared later is not cleared yet. */
export interface PastTranscript {
  upTo(count: number): Transcript;
}

/** Looks only at messages with something cleared; all others stay the same objects. */
export function createPastTranscript(transcript: Transcript): PastTranscript {
  const cleared = transcript.flatMap((message, index) => (message.parts.some(isCleared) ? [index] : []));
  const restored = new WeakMap<Message, Map<number, Message>>();

  /** Time goes one way, so the number of parts that were still whole tells which ones they were. */
  function restore(message: Message, at: number): Message {
    const whole = message.parts.filter((part) => clearedAfter(part, at)).length;
    if (whole === 0) return message;
    const known = restored.get(message) ?? new Map<number, Message>();
    restored.set(message, known);
    const made = known.get(whole) ?? { ...message, parts: message.parts.map((part) => partAt(part, at)) };
    known.set(whole, made);
    return made;
  }

  return {
    upTo(count) {
      if (count >= transcript.length) return transcript;
      const messages = transcript.slice(0, count);
      const at = messages.findLast(({ createdAt }) => createdAt !== undefined)?.createdAt;
      if (at === undefined) return messages;
      for (const index of cleared) {
        const message = messages[index];
        if (message === undefined) break;
        messages[index] = restore(message, at);
      }
      return messages;
    },
  };
}

function isCleared(part: Part): boolean {
  return part.type === "tool" && part.clearedAt !== undefined;
}

function clearedAfter(part: Part, at: number): boolean {
  return part.type === "tool" && part.clearedAt !== undefined && part.clearedAt > at;
}

function partAt(part: Part, at: number): Part {
  if (part.type !== "tool" || !clearedAfter(part, at)) return part;
  const { clearedAt: _, ...rest } = part;
  return rest;
}
