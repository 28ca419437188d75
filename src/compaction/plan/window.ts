import { filterCompacted, findCompletedCompaction } from "../../stages/boundary.ts";
import type { CarriedPin } from "../../transcript/carried-facts.ts";
import {
  isBareMarker,
  isSummary,
  isVisibleToModel,
  type Message,
  type Transcript,
  typedText,
} from "../../transcript/message.ts";

/** What the model reads now, sorted by what a compaction does with it. */
interface CompactionWindow {
  /** Everything the model is sent, system messages included. */
  readonly shown: Transcript;
  /** The system messages among it, which no compaction takes away. */
  readonly system: Transcript;
  /** What can be replaced or kept, oldest first. */
  readonly conversation: Transcript;
  /** Summaries of earlier compactions: taken out, so that they are merged and never summed up as conversation. */
  readonly summaries: Transcript;
  /** A marker that asks for a compaction and has no answer yet. */
  readonly pendingMarker: Message | undefined;
}

/** The window in force: the last completed summary, the tail kept behind it, and everything newer. */
export function readWindow(transcript: Transcript): CompactionWindow {
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
  return { shown: [...system, ...window], system, conversation, summaries, pendingMarker };
}

/** True for what an earlier compaction or tool summary inserted: replacing that alone would only repeat it. */
export function isCompactionLeftover({ metadata }: Message): boolean {
  return metadata?.kind === "tool_summary" || metadata?.kind === "continue";
}

/** The messages that the user marked with `#pin`, a word of its own in what was typed. */
export function markedPins(transcript: Transcript): readonly CarriedPin[] {
  return transcript.flatMap((message): readonly CarriedPin[] => {
    const text = message.role === "user" ? typedText(message) : "";
    return PIN_MARK.test(text) ? [{ text, handle: message.id, marked: true }] : [];
  });
}

const PIN_MARK = /(?:^|\s)#pin(?=\s|$)/;
