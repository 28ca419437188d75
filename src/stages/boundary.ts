import { oneOf, readOptions, required, type Shape } from "../text/check.ts";
import { type Edit, hideMessage, runStages, type Stage } from "../transcript/edit.ts";
import {
  compactionPart,
  isVisibleToModel,
  type Message,
  type MessageId,
  type Transcript,
} from "../transcript/message.ts";
import type { CompactionPart } from "../transcript/part.ts";

/**
 * Hides what the newest completed compaction has summarized. What is left is the summary, then the tail that the host
 * kept verbatim, then everything newer.
 */
export function compactionBoundary(options: CompactionBoundaryOptions): Stage {
  const { from, system } = readOptions(SHAPE, options);
  return (transcript) => {
    const found = findCompletedCompaction(transcript);
    if (found === undefined) return [];
    const { markerIndex, summaryIndex, tailStartIndex } = found;
    const firstKept = from === "marker" ? markerIndex : summaryIndex;
    const tailFrom = tailStartIndex === -1 ? markerIndex : tailStartIndex;

    const edits: Edit[] = [];
    for (const [index, message] of transcript.slice(0, firstKept).entries()) {
      const isTail = index >= tailFrom && index < markerIndex;
      // A summary replaces the conversation, not the system messages.
      const isInstruction = system === "keep" && message.role === "system";
      // A marker in the tail belongs to an older compaction; left there, it would count as the newest.
      const isKept = isInstruction || (isTail && !(from === "summary" && compactionPart(message)));
      if (!isKept && isVisibleToModel(message))
        edits.push(hideMessage(message, { stage: STAGE, reason: "before-compaction" }));
    }
    if (tailFrom < markerIndex) {
      let after = transcript[tailFrom - 1]?.id ?? null;
      for (const message of transcript.slice(firstKept, summaryIndex + 1)) {
        edits.push({
          type: "move-message",
          messageId: message.id,
          after,
          stage: STAGE,
          reason: "retained-tail",
        });
        after = message.id;
      }
    }
    return edits;
  };
}

/** Options of `compactionBoundary`. */
export interface CompactionBoundaryOptions {
  /** `marker`: the compaction marker stays in front, as hosts send it. */
  readonly from: "summary" | "marker";
  /** `keep`: system messages before the boundary stay, for a request that has its system prompt among its messages. @default hide */
  readonly system?: "hide" | "keep";
}

const SHAPE: Shape<CompactionBoundaryOptions> = {
  from: required(oneOf("summary", "marker")),
  system: oneOf("hide", "keep"),
};

/** The index of the summary from which a fork inherits, or -1 when there was no completed compaction. */
export function findCompactionBoundary(messages: Transcript): number {
  return findCompletedCompaction(messages)?.summaryIndex ?? -1;
}

const STAGE = "compaction-boundary";

/** The messages that a host sends after a compaction: marker, summary, retained tail, then everything newer. */
export function filterCompacted(messages: Transcript): Transcript {
  return runStages(messages, [compactionBoundary({ from: "marker" })]).transcript.filter(isVisibleToModel);
}

/** A compaction whose summary is complete, as indexes into the transcript. */
interface CompletedCompaction {
  readonly markerIndex: number;
  readonly summaryIndex: number;
  /** First message kept verbatim; -1 when none was. */
  readonly tailStartIndex: number;
}

/**
 * The newest compaction whose summary is finished, without an error and not empty; a newer pending or failed one does
 * not replace it.
 */
export function findCompletedCompaction(transcript: Transcript): CompletedCompaction | undefined {
  let carriesFinish: boolean | undefined;
  const summaryByParent = new Map<MessageId, number>();
  let nextLooseSummary = -1;
  for (let index = transcript.length - 1; index >= 0; index--) {
    const message = transcript[index] as Message;
    if (!isVisibleToModel(message)) continue;
    if (message.summary) carriesFinish ??= transcript.some(hasFinish);
    if (isCompletedSummary(message, carriesFinish === true)) {
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

/**
 * Hides summaries that failed, were aborted or are still being written: their text cannot be trusted. `all` are all
 * messages, in case `messages` are only some of them: they tell whether this source records how an answer ended.
 */
export function hideFailedSummaries(messages: Transcript, all: Transcript = messages): readonly Edit[] {
  const summaries = messages.filter(({ summary }) => summary === true);
  if (summaries.length === 0) return [];
  const carriesFinish = all.some(hasFinish);
  return summaries
    .filter((message) => isVisibleToModel(message) && isFailedSummary(message, carriesFinish))
    .map((message) => hideMessage(message, { stage: STAGE, reason: "failed-turn" }));
}

/** True for an answer whose source says how it ended. */
function hasFinish({ role, finish }: Message): boolean {
  return role === "assistant" && finish !== undefined;
}

function isCompletedSummary(message: Message, carriesFinish: boolean): boolean {
  return (
    message.role === "assistant" &&
    message.summary === true &&
    !isFailedSummary(message, carriesFinish) &&
    message.parts.some((part) => part.type === "text" && part.text.trim() !== "")
  );
}

function isFailedSummary({ summary, error, unfinished, finish }: Message, carriesFinish: boolean): boolean {
  const isOver = unfinished !== true && (!carriesFinish || finish !== undefined);
  return summary === true && (error !== undefined || !isOver);
}

function tailStart(transcript: Transcript, { tailStartId }: CompactionPart, markerIndex: number): number {
  if (tailStartId === undefined) return -1;
  const index = transcript.findIndex((message) => message.id === tailStartId);
  return index < markerIndex ? index : -1;
}

/** The newest compaction marker if it still waits for its summary; a failed summary ends the wait too. */
export function pendingMarker(transcript: Transcript): CompactionPart | undefined {
  const markerIndex = transcript.findLastIndex(
    (message) => isVisibleToModel(message) && compactionPart(message) !== undefined,
  );
  const marker = transcript[markerIndex];
  if (marker === undefined) return undefined;
  const isEnded = transcript.some(
    ({ summary, finish, error }, index) =>
      index > markerIndex && summary === true && (finish !== undefined || error !== undefined),
  );
  return isEnded ? undefined : compactionPart(marker);
}

/**
 * The index at which the newest turns begin; 0 when there are no more turns than these. A turn begins with a user
 * message; a compaction marker is one.
 */
export function startOfNewestTurns(messages: Transcript, protectTurns: number): number {
  let turns = 0;
  let index = messages.length;
  while (turns < protectTurns && index > 0) {
    index--;
    if (messages[index]?.role === "user") turns++;
  }
  return index;
}
