import { textSize } from "../tool-output/text-size.ts";
import type { ToolOutputLimits } from "../tool-output/tool-output-limits.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";
import { reachesModel } from "../transcript/visibility.ts";

/** Outputs longer than the limits that the model has not answered yet: only these can be bounded at no cost. */
export function findUnboundedOutputs(marked: Transcript, limits: ToolOutputLimits): readonly Handle[] {
  const handles: Handle[] = [];
  const newest = Math.max(0, marked.findLastIndex(isAnswer));
  for (const message of marked.slice(newest)) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type === "tool" && reachesModel(part) && isUnbounded(part, limits))
        handles.push(handleOf(message, partIndex));
    }
  }
  return handles;
}

/** The text of a finished call. */
export function outputText({ outcome }: ToolPart): string {
  if (outcome.status === "pending") return "";
  return outcome.status === "done" ? outcome.output : outcome.error;
}

function isAnswer({ role, summary }: Message): boolean {
  return role === "assistant" && summary !== true;
}

/** An output that was bounded before it came in carries notices beside its content; they do not count. */
const NOTICE_BYTES = 4_096;
const NOTICE_LINES = 24;

const known = new WeakMap<ToolPart, { readonly limits: ToolOutputLimits; readonly isOver: boolean }>();

/** Parts never change, so each is measured once as long as the limits stay. */
function isUnbounded(part: ToolPart, limits: ToolOutputLimits): boolean {
  if (part.cut !== undefined || isCleared(part)) return false;
  const before = known.get(part);
  if (before?.limits === limits) return before.isOver;
  const isOver = exceeds(outputText(part), limits);
  known.set(part, { limits, isOver });
  return isOver;
}

function exceeds(
  text: string,
  { maxBytes, maxChars, maxLines, largeOutputThreshold }: ToolOutputLimits,
): boolean {
  const isOver = (size: number, limit: number, slack: number): boolean => limit > 0 && size > limit + slack;
  // Most outputs are so short that nothing has to be counted.
  const isShort =
    !isOver(text.length * 3, maxBytes, 0) &&
    !isOver(text.length, maxLines, 0) &&
    !isOver(text.length, maxChars, 0);
  if (isShort && !isOver(text.length, largeOutputThreshold, 0)) return false;
  const size = textSize(text.toWellFormed());
  return (
    isOver(size.bytes, maxBytes, NOTICE_BYTES) ||
    isOver(size.chars, maxChars, NOTICE_BYTES) ||
    isOver(size.chars, largeOutputThreshold, NOTICE_BYTES) ||
    isOver(size.lines, maxLines, NOTICE_LINES)
  );
}
