import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import type { CompactionPart } from "../transcript/part.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";

/** A compaction that ended well, as indexes into the transcript. */
export interface CompletedCompaction {
  readonly markerIndex: number;
  readonly summaryIndex: number;
  /** First message kept word for word; -1 when none was. */
  readonly tailStartIndex: number;
}

/** The newest compaction whose summary is finished, faultless and not empty; a newer pending or failed one does not hide it. */
export function findCompletedCompaction(transcript: Transcript): CompletedCompaction | undefined {
  if (!transcript.some((message) => compactionPart(message) !== undefined)) return undefined;
  const carriesFinish = transcript.some(
    (message) => message.role === "assistant" && message.finish !== undefined,
  );
  const summaryByParent = new Map<MessageId, number>();
  let nextLooseSummary = -1;
  for (let index = transcript.length - 1; index >= 0; index--) {
    const message = transcript[index] as Message;
    if (!isVisibleToModel(message)) continue;
    if (isCompletedSummary(message, carriesFinish)) {
      const { parentId } = message;
      if (parentId !== undefined) summaryByParent.set(parentId, index);
      else nextLooseSummary = index;
      continue;
    }
    const marker = compactionPart(message);
    if (marker === undefined) continue;
    const summaryIndex = summaryByParent.get(message.id) ?? nextLooseSummary;
    if (summaryIndex !== -1)
      return { markerIndex: index, summaryIndex, tailStartIndex: tailStart(transcript, marker, index) };
  }
  return undefined;
}

/** The compaction marker of a message, if it is one. */
export function compactionPart(message: Message): CompactionPart | undefined {
  return message.parts.find((part) => part.type === "compaction");
}

function isCompletedSummary(message: Message, carriesFinish: boolean): boolean {
  return (
    message.role === "assistant" &&
    message.summary === true &&
    message.error === undefined &&
    message.unfinished !== true &&
    (!carriesFinish || message.finish !== undefined) &&
    message.parts.some((part) => part.type === "text" && part.text.trim() !== "")
  );
}

function tailStart(transcript: Transcript, { tailStartId }: CompactionPart, markerIndex: number): number {
  if (tailStartId === undefined) return -1;
  const index = transcript.findIndex((message) => message.id === tailStartId);
  return index < markerIndex ? index : -1;
}
