import type { MessageId, Transcript } from "../transcript/message.ts";
import type { InsertedIds } from "./plan-compaction-types.ts";

/** Ids for what a compaction inserts: the last folded message's id and a word, so that the same plan gives the same ids. */
export function insertedIds(transcript: Transcript, foldedIds: readonly MessageId[]): InsertedIds {
  const taken = new Set(transcript.map((message) => message.id));
  const base = foldedIds.at(-1) ?? "compaction";
  const name = (word: string): MessageId => {
    let id = `${base}~${word}`;
    for (let number = 2; taken.has(id); number++) id = `${base}~${word}-${number}`;
    return id;
  };
  return {
    marker: name("marker"),
    summary: name("summary"),
    digest: name("digest"),
    continuation: name("continue"),
  };
}
