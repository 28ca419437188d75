import type { MessageId, Transcript } from "../transcript/message.ts";

/** Gives ids that no message of the transcript has, each once: the wanted one, or the wanted one with a number. */
export function createFreeIds(transcript: Transcript): (wanted: MessageId) => MessageId {
  const taken = new Set(transcript.map((message) => message.id));
  return (wanted) => {
    let id = wanted;
    for (let number = 2; taken.has(id); number++) id = `${wanted}~${number}`;
    taken.add(id);
    return id;
  };
}
