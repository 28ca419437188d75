import { commonLimit } from "../text/clip.ts";
import { CHARS_PER_TOKEN, estimateTokens } from "../text/tokens/estimate-tokens.ts";
import { isWithinLimits, type ToolOutputLimits } from "../tool-output/limits.ts";
import type { OutputStore } from "../tool-output/output-store.ts";
import { type TextSize, textSize } from "../tool-output/text-size.ts";
import { type TrimmedToolOutput, trimToolOutput } from "../tool-output/truncate-tool-content.ts";
import {
  createToolMatcher,
  handleOf,
  hasOnlyStub,
  isCleared,
  outcomeText,
  toolResults,
} from "../transcript/content.ts";
import type { Handle } from "../transcript/edit.ts";
import { isAnswer, reachesModel, type Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import type { ResolvedSessionOptions } from "./options.ts";

/** Outputs longer than the limits that the model has not answered yet: only these can be trimmed at no cost. */
export function findLongOutputs(marked: Transcript, options: OutputOptions, roomTokens: number): LongOutputs {
  const outputs: { readonly handle: Handle; readonly part: ToolPart }[] = [];
  const newest = Math.max(0, marked.findLastIndex(isAnswer));
  for (const message of marked.slice(newest)) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type === "tool" && reachesModel(part) && !isCleared(part))
        outputs.push({ handle: handleOf(message, partIndex), part });
    }
  }
  const own = outputs.map(({ part }) => limitsOfTool(part.tool, options, roomTokens));
  const common = outputs.filter((_, index) => own[index] === "as-others");
  const commonLimits = limitsOfOutputs(
    common.map(({ part }) => outcomeText(part.outcome).length),
    options,
    roomTokens,
  );
  const found = new Map<Handle, ToolOutputLimits>();
  for (const [index, { handle, part }] of outputs.entries()) {
    const given = own[index];
    const limits = given === "as-others" ? commonLimits : given;
    if (limits !== undefined && isTooLong(part, limits)) found.set(handle, limits);
  }
  return found;
}

/** The outputs to trim, and to what. */
export type LongOutputs = ReadonlyMap<Handle, ToolOutputLimits>;

const measuredSizes = new WeakMap<ToolPart, TextSize>();

/** Parts never change, so each is measured once. */
function sizeOf(part: ToolPart): TextSize {
  const size = measuredSizes.get(part) ?? textSize(outcomeText(part.outcome).toWellFormed());
  measuredSizes.set(part, size);
  return size;
}

/** An output that was trimmed before has a `cut`. Most others are so short that nothing has to be counted. */
function isTooLong(part: ToolPart, limits: ToolOutputLimits): boolean {
  if (part.cut !== undefined) return false;
  const { largeOutputThreshold } = limits;
  const isOver = (size: TextSize): boolean =>
    !isWithinLimits(size, limits) || (largeOutputThreshold > 0 && size.chars > largeOutputThreshold);
  const { length } = outcomeText(part.outcome);
  return isOver({ lines: length, chars: length, bytes: length * 3 }) && isOver(sizeOf(part));
}

type OutputOptions = Pick<ResolvedSessionOptions, "toolOutput" | "outputLimits" | "perTool" | "keptTools">;

/**
 * How much of one output may enter the window, by what that has room for: what was asked for, or the defaults within a
 * share of the window. Undefined when nothing is trimmed; the room is Infinity when it is not known.
 */
export function limitsOfOutput(
  { toolOutput, outputLimits }: Pick<OutputOptions, "toolOutput" | "outputLimits">,
  roomTokens: number,
): ToolOutputLimits | undefined {
  if (outputLimits === undefined || toolOutput !== undefined) return outputLimits;
  return within(outputLimits, roomTokens * CHARS_PER_TOKEN * ONE_SHARE);
}

/** The same for each of several outputs that come in together, which must leave room for everything else. */
function limitsOfOutputs(
  outputChars: readonly number[],
  options: OutputOptions,
  roomTokens: number,
): ToolOutputLimits | undefined {
  const limits = limitsOfOutput(options, roomTokens);
  if (limits === undefined || options.toolOutput !== undefined) return limits;
  const sizes = outputChars.map((chars) => Math.min(chars, limits.maxBytes));
  return within(limits, commonLimit(sizes, roomTokens * CHARS_PER_TOKEN * STEP_SHARE));
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

/** The outputs of kept tools, oldest first: those that stay whatever goes, and those that do not fit their share of the window. */
export function protectedOutputs(
  marked: Transcript,
  { keptTools }: Pick<OutputOptions, "keptTools">,
  roomTokens: number,
): ProtectedOutputs {
  if (keptTools.length === 0) return NO_PROTECTED_OUTPUTS;
  const isKept = createToolMatcher(keptTools);
  const kept: Handle[] = [];
  const dropped: Handle[] = [];
  let leftTokens = roomTokens * KEPT_SHARE;
  // The newest of them that fit.
  for (const { message, partIndex, part, cleared } of toolResults(marked).toReversed()) {
    if (!isKept(part.tool) || cleared || hasOnlyStub(part)) continue;
    const tokens = tokensOf(part);
    (tokens <= leftTokens ? kept : dropped).push(handleOf(message, partIndex));
    if (tokens <= leftTokens) leftTokens -= tokens;
  }
  return { kept: kept.reverse(), dropped };
}

interface ProtectedOutputs {
  readonly kept: readonly Handle[];
  readonly dropped: readonly Handle[];
}

const NO_PROTECTED_OUTPUTS: ProtectedOutputs = { kept: [], dropped: [] };

/** The limits of a tool's output as it comes in; `as-others` where it has none of its own. */
function limitsOfTool(
  tool: string,
  { perTool = {}, keptTools }: Pick<OutputOptions, "perTool" | "keptTools">,
  roomTokens: number,
): ToolOutputLimits | "as-others" {
  const name = tool.toLowerCase();
  const own = Object.entries(perTool).findLast(([each]) => each.toLowerCase() === name)?.[1].maxChars;
  const isKept = createToolMatcher(keptTools)(tool);
  if (own === undefined && !isKept) return "as-others";
  const mostBytes = roomTokens * CHARS_PER_TOKEN * (isKept ? KEPT_SHARE : MOST_SHARE);
  return {
    maxLines: 0,
    maxChars: own ?? 0,
    maxBytes: Number.isFinite(mostBytes) ? Math.max(1, Math.floor(mostBytes)) : 0,
    largeOutputThreshold: 0,
    truncateMode: "head_tail",
  };
}

/** As for pins: leaves room for the summary, what is kept behind it, and new work. */
const KEPT_SHARE = 0.4;
/** No single output may take more, whatever is allowed for its tool. */
const MOST_SHARE = 0.5;
const measuredTokens = new WeakMap<ToolPart, number>();

/** Parts never change, so each is measured once. */
function tokensOf(part: ToolPart): number {
  const tokens = measuredTokens.get(part) ?? estimateTokens(outcomeText(part.outcome), MEASURE);
  measuredTokens.set(part, tokens);
  return tokens;
}

const MEASURE = { estimator: "calibrated", rounding: "ceil" } as const;

/** Cuts one output of a tool; undefined where it stays whole. */
type OutputTrimming = (tool: string, output: string) => Promise<TrimmedToolOutput | undefined>;

/**
 * Trims outputs before a session sees them, by its own options, for hosts that keep them themselves. What the window
 * has room for is not known here: the session still trims by that.
 */
export function createOutputTrimming(
  options: OutputOptions,
  outputs: TrimmingStore | undefined,
): OutputTrimming {
  return async (tool, output) => {
    const own = limitsOfTool(tool, options, Number.POSITIVE_INFINITY);
    const limits = own === "as-others" ? options.outputLimits : own;
    if (limits === undefined) return undefined;
    const trimmed = await trimToolOutput(
      output,
      outputs === undefined ? { limits } : { ...outputs, limits: withNotice(limits) },
    );
    return trimmed.cut === undefined ? undefined : trimmed;
  };
}

/** Where the whole is kept, and the tool that reads it. */
interface TrimmingStore {
  readonly store: OutputStore;
  readonly recallTool: string;
}

/** Limits that leave room for the notices about what was left out, so that the session finds nothing more to cut. */
function withNotice(limits: ToolOutputLimits): ToolOutputLimits {
  const less = (limit: number, notice: number): number => (limit > 2 * notice ? limit - notice : limit);
  return {
    ...limits,
    maxLines: less(limits.maxLines, 10),
    maxChars: less(limits.maxChars, 1_000),
    maxBytes: less(limits.maxBytes, 1_000),
  };
}
