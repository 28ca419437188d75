import { compactionPart, findCompletedCompaction } from "../stages/completed-compaction.ts";
import { filterCompacted } from "../stages/filter-compacted.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { isVisibleToModel, reachesModel } from "../transcript/visibility.ts";
import { isSummary } from "./summary-previous.ts";

/** What the model reads now, sorted by what a compaction does with it. */
export interface Window {
  /** Everything the model is sent, system messages included. */
  readonly shown: Transcript;
  /** What can be folded or kept, oldest first. */
  readonly conversation: Transcript;
  /** Summaries of earlier compactions: taken out, so that they are merged and never summed up as conversation. */
  readonly summaries: Transcript;
  /** A marker that asks for a compaction and has no answer yet. */
  readonly pendingMarker: Message | undefined;
}

/** The window in force: the last completed summary, the tail kept behind it, and everything newer. */
export function readWindow(transcript: Transcript): Window {
  const completed = findCompletedCompaction(transcript);
  const answered = completed === undefined ? undefined : transcript[completed.markerIndex];
  const system = transcript.filter((message) => message.role === "system" && isVisibleToModel(message));
  const windowIds = new Set(filterCompacted(transcript).map((message) => message.id));
  // In the order of the transcript: a retained tail is older than what stands between a marker and its summary.
  const window = transcript.filter((message) => windowIds.has(message.id) && message.role !== "system");
  const conversation: Message[] = [];
  const summaries: Message[] = [];
  let pendingMarker: Message | undefined;
  for (const message of window) {
    if (isSummary(message)) summaries.push(message);
    else if (!isBareMarker(message)) conversation.push(message);
    else if (message !== answered) pendingMarker = message;
  }
  return { shown: [...system, ...window], conversation, summaries, pendingMarker };
}

/** True for a user message that asks for a compaction and says nothing else. */
export function isBareMarker(message: Message): boolean {
  return (
    message.role === "user" &&
    compactionPart(message) !== undefined &&
    message.parts.every((part) => part.type === "compaction" || !reachesModel(part))
  );
}
