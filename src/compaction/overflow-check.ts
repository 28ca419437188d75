import { compactionPart } from "../stages/completed-compaction.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { isOverflow, type OverflowAnswer } from "./is-overflow.ts";
import type { OverflowSettings } from "./overflow-settings.ts";
import type { ModelLimits } from "./usable-tokens.ts";

/**
 * Looks at the newest finished step, whatever it ended in, and says whether a compaction marker is due.
 * For use after every step and again before every call.
 */
export function checkOverflow(transcript: Transcript, { limits, settings }: CheckOptions): OverflowCheck {
  const step = stepToCheck(transcript);
  const answer = isOverflow({ usage: step?.usage, limits, ...(settings === undefined ? {} : { settings }) });
  if (!answer.overflow) return { action: "none", answer };
  return { action: hasPendingMarker(transcript) ? "wait" : "mark", answer };
}

export interface CheckOptions {
  readonly limits: ModelLimits;
  readonly settings?: Partial<OverflowSettings>;
}

export interface OverflowCheck {
  /** `mark`: append an automatic compaction marker; `wait`: one is pending already. */
  readonly action: "none" | "mark" | "wait";
  readonly answer: OverflowAnswer;
}

/**
 * The newest finished assistant message, or undefined when that is a summary: a summary is never checked,
 * and the usage recorded before it describes a context that no longer exists.
 */
export function stepToCheck(transcript: Transcript): Message | undefined {
  const step = transcript.findLast(isFinishedStep);
  return step?.summary === true ? undefined : step;
}

/** True while the newest compaction marker waits for its summary; a failed summary ends the wait as well. */
export function hasPendingMarker(transcript: Transcript): boolean {
  const markerIndex = transcript.findLastIndex(
    (message) => isVisibleToModel(message) && compactionPart(message) !== undefined,
  );
  if (markerIndex === -1) return false;
  return !transcript.some((message, index) => index > markerIndex && isSettledSummary(message));
}

function isSettledSummary(message: Message): boolean {
  return message.summary === true && (message.finish !== undefined || message.error !== undefined);
}

function isFinishedStep(message: Message): boolean {
  return (
    message.role === "assistant" &&
    message.finish !== undefined &&
    message.error === undefined &&
    isVisibleToModel(message)
  );
}
