import { CHARS_PER_TOKEN } from "../text/estimate-tokens.ts";
import type { ToolOutputLimits } from "../tool-output/tool-output-limits.ts";
import type { KnownSessionOptions } from "./session-options.ts";
import { type LimitedWindow, tokenLimitOf } from "./token-limit-of.ts";

/** How much of an output may enter the window: what was asked for, or the defaults within shares of the window. */
export interface OutputLimits {
  /** For one output; undefined when nothing is bounded. */
  one(): ToolOutputLimits | undefined;
  /** For each of the outputs that come in together, which must leave room for everything else. */
  each(outputChars: readonly number[]): ToolOutputLimits | undefined;
}

/** The limits of a session's outputs, as its window is now. */
export function createOutputLimits(
  { toolOutput, outputLimits }: KnownSessionOptions,
  window: LimitedWindow,
): OutputLimits {
  if (outputLimits === undefined || toolOutput !== undefined)
    return { one: () => outputLimits, each: () => outputLimits };
  const share = (part: number): number => roomChars(window) * part;
  const one = (): ToolOutputLimits => within(outputLimits, share(ONE_SHARE));
  return {
    one,
    each(outputChars) {
      const limits = one();
      return within(limits, levelFor(outputChars, limits.maxBytes, share(STEP_SHARE)));
    },
  };
}

/** A step often has several outputs, and the model has to read more than the newest ones. */
const ONE_SHARE = 0.25;
const STEP_SHARE = 0.5;
/** Less would not even show an error with its surroundings. */
const MIN_BYTES = 2_048;

/** What the window holds before it is compacted; Infinity when nobody knows. */
function roomChars(window: LimitedWindow): number {
  const { contextTokens } = window.limits;
  if (!(contextTokens > 0)) return Number.POSITIVE_INFINITY;
  const { limitTokens = contextTokens } = tokenLimitOf(window);
  return limitTokens * CHARS_PER_TOKEN;
}

function within(limits: ToolOutputLimits, mostBytes: number): ToolOutputLimits {
  const maxBytes = Math.max(MIN_BYTES, Math.floor(mostBytes));
  return maxBytes < limits.maxBytes ? { ...limits, maxBytes } : limits;
}

/** The size to which the larger ones have to come down so that all of them fit; small ones leave their share to others. */
function levelFor(outputChars: readonly number[], mostChars: number, totalChars: number): number {
  let leftChars = totalChars;
  let leftOutputs = outputChars.length;
  for (const chars of outputChars
    .map((size) => Math.min(size, mostChars))
    .sort((one, other) => one - other)) {
    if (chars > leftChars / leftOutputs) return leftChars / leftOutputs;
    leftChars -= chars;
    leftOutputs--;
  }
  return Number.POSITIVE_INFINITY;
}
