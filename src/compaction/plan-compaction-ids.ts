import type { MessageId, Transcript } from "../transcript/message.ts";
import { createFreeIds } from "./free-ids.ts";
import type { InsertedIds } from "./plan-compaction-types.ts";

/** Ids for what a compaction inserts: the last folded message's id and a word, so that the same plan gives the same ids. */
export function insertedIds(transcript: Transcript, foldedIds: readonly MessageId[]): InsertedIds {
  const freeId = createFreeIds(transcript);
  const base = foldedIds.at(-1) ?? "compaction";
  return {
    marker: freeId(`${base}~marker`),
    summary: freeId(`${base}~summary`),
    digest: freeId(`${base}~digest`),
    continuation: freeId(`${base}~continue`),
  };
}
