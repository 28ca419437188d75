import type { Edit } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { targetsOf } from "./edit-batch.ts";

/** True when every message that edits speak of is the same now as when they were decided: only then may a late result be used. */
export function isStillSo(edits: readonly Edit[], then: Transcript, now: Transcript): boolean {
  if (then === now) return true;
  const targets = new Set(edits.flatMap(targetsOf));
  const pick = (transcript: Transcript): ReadonlyMap<MessageId, Message> =>
    new Map(transcript.filter(({ id }) => targets.has(id)).map((message) => [message.id, message]));
  const [before, after] = [pick(then), pick(now)];
  return [...before].every(([id, message]) => after.get(id) === message);
}
