import type { MessageId, Transcript } from "./message.ts";

/** A transcript in which every id occurs once; repeated ones get a number. The same reference when nothing is repeated. */
export function withUniqueIds(transcript: Transcript): Transcript {
  const name = createIdNamer();
  let changed = false;
  const messages = transcript.map((message) => {
    const id = name(message.id);
    if (id === message.id) return message;
    changed = true;
    return { ...message, id };
  });
  return changed ? messages : transcript;
}

/** Gives each id in turn: itself the first time, `id~2`, `id~3`, … when it comes again. */
export function createIdNamer(): (wanted: MessageId) => MessageId {
  const taken = new Set<MessageId>();
  const lastNumber = new Map<MessageId, number>();
  return (wanted) => {
    let id = wanted;
    while (taken.has(id)) {
      const number = (lastNumber.get(wanted) ?? 1) + 1;
      lastNumber.set(wanted, number);
      id = `${wanted}~${number}`;
    }
    taken.add(id);
    return id;
  };
}
