import { CHARS_PER_TOKEN, estimateTokens } from "../text/tokens/estimate-tokens.ts";
import { commonLimit } from "../text/truncate.ts";
import { isWithinLimits, type TextSize, type ToolOutputLimits, textSize } from "../tool-output/limits.ts";
import type { SpillStore } from "../tool-output/spill.ts";
import { type BoundedToolOutput, boundToolOutput } from "../tool-output/truncate-tool-content.ts";
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
import type { ResolvedSessionOptions, ToolPolicies } from "./options.ts";

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

/** The outputs that must stay, and what other limits single tools have. */
export interface KeptOutputs {
  /** The outputs of a window that stay whatever goes, oldest first: the newest of them that fit their share of the window. */
  held(marked: Transcript): readonly Handle[];
  /** Outputs that should have been kept and are not, each told once. */
  newlyLetGo(marked: Transcript, isThere: (handle: Handle) => boolean): readonly Handle[];
  /** The limits of a tool's output as it comes in; `as-others` where it has none of its own. */
  limitsOf(tool: string): ToolOutputLimits | "as-others";
}

/** The kept outputs of a session, by the tokens its window has room for; Infinity when that is unknown. */
export function createKeptOutputs(
  { perTool = {}, keptTools }: KeptOptions,
  roomTokens: () => number,
): KeptOutputs {
  const isKept = createToolMatcher(keptTools);
  const limitChars = new Map(
    Object.entries(perTool).map(([tool, { maxChars }]) => [tool.toLowerCase(), maxChars] as const),
  );
  const everHeld = new Set<Handle>();
  const told = new Set<Handle>();
  let last: Reading | undefined;

  function read(marked: Transcript): Reading {
    const keptTokens = roomTokens() * KEPT_SHARE;
    if (last?.marked === marked && last.keptTokens === keptTokens) return last;
    const held: Handle[] = [];
    const letGo: Handle[] = [];
    let leftTokens = keptTokens;
    const results = keptTools.length === 0 ? [] : toolResults(marked);
    for (const { message, partIndex, part, cleared } of results.toReversed()) {
      if (!isKept(part.tool) || cleared || hasOnlyStub(part)) continue;
      const tokens = tokensOf(part);
      (tokens <= leftTokens ? held : letGo).push(handleOf(message, partIndex));
      if (tokens <= leftTokens) leftTokens -= tokens;
    }
    last = { marked, keptTokens, held: held.reverse(), letGo };
    return last;
  }

  return {
    held: (marked) => read(marked).held,

    newlyLetGo(marked, isThere) {
      if (keptTools.length === 0) return [];
      const { held, letGo } = read(marked);
      for (const handle of held) everHeld.add(handle);
      const isHeld = new Set(held);
      const gone = [...everHeld].filter((handle) => !isHeld.has(handle) && isThere(handle));
      const untold = [...new Set([...letGo, ...gone])].filter((handle) => !told.has(handle));
      for (const handle of untold) told.add(handle);
      return untold;
    },

    limitsOf(tool) {
      const own = limitChars.get(tool.toLowerCase());
      if (own === undefined && !isKept(tool)) return "as-others";
      const mostBytes = roomTokens() * CHARS_PER_TOKEN * (isKept(tool) ? KEPT_SHARE : MOST_SHARE);
      return {
        maxLines: 0,
        maxChars: own ?? 0,
        maxBytes: Number.isFinite(mostBytes) ? Math.max(1, Math.floor(mostBytes)) : 0,
        largeOutputThreshold: 0,
        truncateMode: "head_tail",
      };
    },
  };
}

interface KeptOptions {
  readonly perTool?: ToolPolicies;
  /** Tools whose outputs are kept. */
  readonly keptTools: readonly string[];
}

interface Reading {
  readonly marked: Transcript;
  readonly keptTokens: number;
  readonly held: readonly Handle[];
  readonly letGo: readonly Handle[];
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
type OutputBounding = (tool: string, output: string) => Promise<BoundedToolOutput | undefined>;

/**
 * Bounds outputs before a session sees them, by its own options, for hosts that keep them themselves. What the window has
 * room for is not known here: the session still bounds by that.
 */
export function createOutputBounding(
  options: ResolvedSessionOptions,
  spills: BoundingStore | undefined,
): OutputBounding {
  const kept = createKeptOutputs(options, () => Number.POSITIVE_INFINITY);
  return async (tool, output) => {
    const own = kept.limitsOf(tool);
    const limits = own === "as-others" ? options.outputLimits : own;
    if (limits === undefined) return undefined;
    const bounded = await boundToolOutput(
      output,
      spills === undefined ? { limits } : { ...spills, limits: withNotice(limits) },
    );
    return bounded.cut === undefined ? undefined : bounded;
  };
}

/** Where the whole is kept, and the tool that reads it. */
interface BoundingStore {
  readonly store: SpillStore;
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
