import { sameValue } from "../../../session/same-value.ts";
import type { Message, Transcript } from "../../../transcript/message.ts";
import type { CachedPrefix, MessageRow } from "./types.ts";

/** What two requests have in common from the front: the same messages, unchanged. */
export function cachedPrefix(sent: Transcript, next: Transcript, rows: readonly MessageRow[]): CachedPrefix {
  const rowsById = new Map(rows.map((row) => [row.id, row]));
  let messages = 0;
  let tokens = 0;
  let endIndex = 0;
  for (const message of next) {
    // The same edit, made twice, gives two messages that say the same.
    if (!sameValue(sent[messages], message)) break;
    const row = rowsById.get(message.id);
    messages++;
    tokens += row?.keptTokens ?? 0;
    endIndex = Math.max(endIndex, (row?.index ?? -1) + 1);
  }
  return { messages, tokens, endIndex };
}

/** How many messages there were when the model was asked last; its newest answer was not part of that request. */
export function lastRequestEnd(transcript: Transcript): number {
  return Math.max(0, transcript.findLastIndex(isAnswer));
}

function isAnswer({ role, summary }: Message): boolean {
  return role === "assistant" && !summary;
}
