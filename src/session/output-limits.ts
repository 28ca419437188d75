import { CHARS_PER_TOKEN } from "../text/tokens/estimate-tokens.ts";
import { commonLimit } from "../text/truncate.ts";
import { isWithinLimits, type TextSize, type ToolOutputLimits, textSize } from "../tool-output/limits.ts";
import type { Handle } from "../transcript/edit.ts";
import { isAnswer, reachesModel, type Transcript } from "../transcript/message.ts";
import { outcomeText, type ToolPart } from "../transcript/part.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";
import type { KeptOutputs } from "./kept-outputs.ts";
import type { ResolvedSessionOptions } from "./options.ts";

/** Outputs longer than the limits that the model has not answered yet: only these can be bounded at no cost. */
export function findUnboundedOutputs(
  marked: Transcript,
  { each }: OutputLimits,
  limitsOf: KeptOutputs["limitsOf"],
): UnboundedOutputs {
  const outputs: { readonly handle: Handle; readonly part: ToolPart }[] = [];
  const newest = Math.max(0, marked.findLastIndex(isAnswer));
  for (const message of marked.slice(newest)) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type === "tool" && reachesModel(part) && !isCleared(part))
        outputs.push({ handle: handleOf(message, partIndex), part });
    }
  }
  const own = outputs.map(({ part }) => limitsOf(part.tool));
  const common = outputs.filter((_, index) => own[index] === "as-others");
  const commonLimits = each(common.map(({ part }) => outcomeText(part.outcome).length));
  const found = new Map<Handle, ToolOutputLimits>();
  for (const [index, { handle, part }] of outputs.entries()) {
    const given = own[index];
    const limits = given === "as-others" ? commonLimits : given;
    if (limits !== undefined && isUnbounded(part, limits)) found.set(handle, limits);
  }
  return found;
}

/** The outputs to bound, and to what. */
export type UnboundedOutputs = ReadonlyMap<Handle, ToolOutputLimits>;

const measuredSizes = new WeakMap<ToolPart, TextSize>();

/** Parts never change, so each is measured once. */
function sizeOf(part: ToolPart): TextSize {
  const size = measuredSizes.get(part) ?? textSize(outcomeText(part.outcome).toWellFormed());
  measuredSizes.set(part, size);
  return size;
}

/** An output that was bounded before has a `cut`. Most others are so short that nothing has to be counted. */
function isUnbounded(part: ToolPart, limits: ToolOutputLimits): boolean {
  if (part.cut !== undefined) return false;
  const { largeOutputThreshold } = limits;
  const isOver = (size: TextSize): boolean =>
    !isWithinLimits(size, limits) || (largeOutputThreshold > 0 && size.chars > largeOutputThreshold);
  const { length } = outcomeText(part.outcome);
  return isOver({ lines: length, chars: length, bytes: length * 3 }) && isOver(sizeOf(part));
}

/** How much of an output may enter the window: what was asked for, or the defaults within shares of the window. */
export interface OutputLimits {
  /** For one output; undefined when nothing is bounded. */
  one(): ToolOutputLimits | undefined;
  /** For each of the outputs that come in together, which must leave room for everything else. */
  each(outputChars: readonly number[]): ToolOutputLimits | undefined;
}

/** The limits of a session's outputs, by what its window has room for now; Infinity when that is unknown. */
export function createOutputLimits(
  { toolOutput, outputLimits }: ResolvedSessionOptions,
  roomTokens: () => number,
): OutputLimits {
  if (outputLimits === undefined || toolOutput !== undefined)
    return { one: () => outputLimits, each: () => outputLimits };
  const share = (part: number): number => roomTokens() * CHARS_PER_TOKEN * part;
  const one = (): ToolOutputLimits => within(outputLimits, share(ONE_SHARE));
  return {
    one,
    each(outputChars) {
      const limits = one();
      const sizes = outputChars.map((chars) => Math.min(chars, limits.maxBytes));
      return within(limits, commonLimit(sizes, share(STEP_SHARE)));
    },
  };
}

/** A step often has several outputs, and the model has to read more than the newest ones. */
const ONE_SHARE = 0.25;
const STEP_SHARE = 0.5;
/** Enough for an error with the lines around it. */
const MIN_BYTES = 2_048;

function within(limits: ToolOutputLimits, mostBytes: number): ToolOutputLimits {
  const maxBytes = Math.max(MIN_BYTES, Math.floor(mostBytes));
  return maxBytes < limits.maxBytes ? { ...limits, maxBytes } : limits;
}
