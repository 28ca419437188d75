import { type TextSize, textSize } from "../tool-output/text-size.ts";
import type { ToolOutputLimits } from "../tool-output/tool-output-limits.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { outcomeText, type ToolPart } from "../transcript/part.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";
import { reachesModel } from "../transcript/visibility.ts";
import type { OutputLimits } from "./output-limits.ts";

/** Outputs longer than the limits that the model has not answered yet: only these can be bounded at no cost. */
export function findUnboundedOutputs(marked: Transcript, { each }: OutputLimits): UnboundedOutputs {
  const outputs: { readonly handle: Handle; readonly part: ToolPart }[] = [];
  const newest = Math.max(0, marked.findLastIndex(isAnswer));
  for (const message of marked.slice(newest)) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type === "tool" && reachesModel(part) && !isCleared(part))
        outputs.push({ handle: handleOf(message, partIndex), part });
    }
  }
  const limits = each(outputs.map(({ part }) => outcomeText(part.outcome).length));
  if (limits === undefined) return NOTHING_UNBOUNDED;
  const handles = outputs.filter(({ part }) => isUnbounded(part, limits)).map(({ handle }) => handle);
  return { handles, limits };
}

/** The outputs to bound, and to what. */
export interface UnboundedOutputs {
  readonly handles: readonly Handle[];
  readonly limits?: ToolOutputLimits;
}

/** When nothing came in that is too long. */
export const NOTHING_UNBOUNDED: UnboundedOutputs = { handles: [] };

function isAnswer({ role, summary }: Message): boolean {
  return role === "assistant" && summary !== true;
}

/** An output that was bounded before it came in carries notices beside its content; they do not count. */
const NOTICE_BYTES = 4_096;
const NOTICE_LINES = 24;

const known = new WeakMap<ToolPart, TextSize>();

/** Parts never change, so each is measured once. */
function sizeOf(part: ToolPart): TextSize {
  const size = known.get(part) ?? textSize(outcomeText(part.outcome).toWellFormed());
  known.set(part, size);
  return size;
}

function isUnbounded(
  part: ToolPart,
  { maxBytes, maxChars, maxLines, largeOutputThreshold }: ToolOutputLimits,
): boolean {
  if (part.cut !== undefined) return false;
  const { length } = outcomeText(part.outcome);
  const isOver = (size: number, limit: number, slack: number): boolean => limit > 0 && size > limit + slack;
  // Most outputs are so short that nothing has to be counted.
  const isShort =
    !isOver(length * 3, maxBytes, 0) && !isOver(length, maxLines, 0) && !isOver(length, maxChars, 0);
  if (isShort && !isOver(length, largeOutputThreshold, 0)) return false;
  const size = sizeOf(part);
  return (
    isOver(size.bytes, maxBytes, NOTICE_BYTES) ||
    isOver(size.chars, maxChars, NOTICE_BYTES) ||
    isOver(size.chars, largeOutputThreshold, NOTICE_BYTES) ||
    isOver(size.lines, maxLines, NOTICE_LINES)
  );
}
