import type { Message, Transcript } from "../../../src/transcript/message.ts";
import type { CompactionPart } from "../../../src/transcript/part.ts";

/**
 * What OpenCode 1.18.33 sends of a transcript, faults included: a second opinion that shares nothing with our own
 * `filterCompacted`, so that where the two differ it is known which shape of session is the reason.
 */
export function hostWindow(transcript: Transcript): Transcript {
  const kept = transcript.slice(startOf(transcript));
  const markerIndex = kept.findLastIndex((message) => markerOf(message)?.tailStartId !== undefined);
  const marker = kept[markerIndex];
  if (marker === undefined) return kept;
  const tailIndex = kept.findIndex(({ id }) => id === markerOf(marker)?.tailStartId);
  // Whether that summary ended well is not asked here.
  const summaryIndex = kept.findIndex(
    ({ summary, parentId }, index) => index > markerIndex && summary === true && parentId === marker.id,
  );
  if (tailIndex === -1 || tailIndex >= markerIndex || summaryIndex === -1) return kept;
  return [
    ...kept.slice(markerIndex, summaryIndex + 1),
    ...kept.slice(tailIndex, markerIndex),
    ...kept.slice(summaryIndex + 1),
  ];
}

/** Reads backwards to the newest marker with a finished summary, and on to where its tail begins. */
function startOf(transcript: Transcript): number {
  const summedUp = new Set<string | undefined>();
  let tailStartId: string | undefined;
  for (let index = transcript.length - 1; index >= 0; index--) {
    const message = transcript[index];
    if (message === undefined) break;
    if (tailStartId !== undefined) {
      if (message.id === tailStartId) return index;
      continue;
    }
    const marker = markerOf(message);
    if (marker !== undefined && summedUp.has(message.id)) {
      if (marker.tailStartId === undefined) return index;
      tailStartId = marker.tailStartId;
    }
    if (isFinishedSummary(message)) summedUp.add(message.parentId);
  }
  return 0;
}

function markerOf({ role, parts }: Message): CompactionPart | undefined {
  return role === "user" ? parts.find((part) => part.type === "compaction") : undefined;
}

function isFinishedSummary({ summary, finish, error }: Message): boolean {
  return summary === true && finish !== undefined && error === undefined;
}
