import { effectiveTokenLimit } from "../compaction/effective-token-limit.ts";
import { CHARS_PER_TOKEN } from "../text/estimate-tokens.ts";
import type { ToolOutputLimits } from "../tool-output/tool-output-limits.ts";
import type { SessionMemory } from "./session-memory.ts";
import type { KnownSessionOptions } from "./session-options.ts";

/**
 * The limits of one output, as they are now: those that were asked for, or the defaults, but of a small window no
 * more than a share. The same object as long as the window stays.
 */
export function createOutputLimits(
  { toolOutput, outputLimits }: KnownSessionOptions,
  memory: SessionMemory,
): () => ToolOutputLimits | undefined {
  if (outputLimits === undefined || toolOutput !== undefined) return () => outputLimits;
  let known = { contextTokens: Number.NaN, limits: outputLimits };
  return () => {
    const { contextTokens } = memory.limits;
    if (known.contextTokens === contextTokens) return known.limits;
    known = { contextTokens, limits: withinWindow(outputLimits, shareOf(memory)) };
    return known.limits;
  };
}

/** A call often has several outputs, and the model has to read more than the newest ones. */
const SHARE_OF_LIMIT = 0.25;
/** Less would not even show an error with its surroundings. */
const MIN_BYTES = 4_096;

function shareOf({ limits, settings, model }: SessionMemory): number {
  const { contextTokens } = limits;
  if (!(contextTokens > 0)) return Number.POSITIVE_INFINITY;
  const { limitTokens = contextTokens } = effectiveTokenLimit(settings, {
    contextWindowTokens: contextTokens,
    ...(model && { model }),
  });
  return Math.max(MIN_BYTES, Math.floor(limitTokens * SHARE_OF_LIMIT * CHARS_PER_TOKEN));
}

function withinWindow(limits: ToolOutputLimits, maxBytes: number): ToolOutputLimits {
  return maxBytes < limits.maxBytes ? { ...limits, maxBytes } : limits;
}
