import type { Message, Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";

/**
 * Gives the first `count` messages as they were at that time: what was cleared later is restored. Other messages stay
 * the same objects.
 */
export function createPastTranscript(transcript: Transcript): (count: number) => Transcript {
  const cleared = transcript.flatMap((message, index) =>
    message.parts.some((part) => isClearedAfter(part, Number.NEGATIVE_INFINITY)) ? [index] : [],
  );
  const restored = new WeakMap<Message, Map<number, Message>>();

  /** Parts are cleared in the order of time, so their number identifies which ones were not cleared yet. */
  function restore(message: Message, at: number): Message {
    const whole = message.parts.filter((part) => isClearedAfter(part, at)).length;
    if (whole === 0) return message;
    const known = restored.get(message) ?? new Map<number, Message>();
    restored.set(message, known);
    const made = known.get(whole) ?? { ...message, parts: message.parts.map((part) => partAt(part, at)) };
    known.set(whole, made);
    return made;
  }

  return (count) => {
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
  };
}

function isClearedAfter(part: Part, at: number): boolean {
  return part.type === "tool" && part.clearedAt !== undefined && part.clearedAt > at;
}

function partAt(part: Part, at: number): Part {
  if (part.type !== "tool" || !isClearedAfter(part, at)) return part;
  const { clearedAt: _, ...rest } = part;
  return rest;
}
