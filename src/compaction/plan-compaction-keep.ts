import type { ModelRef } from "../transcript/message.ts";
import { type CompactionSettings, DEFAULT_COMPACTION_SETTINGS } from "./compaction-settings.ts";
import { effectiveKeepRecentTokens, effectiveTokenLimit } from "./effective-token-limit.ts";
import type { Keep } from "./plan-compaction-split.ts";
import type { Representation } from "./summary-message.ts";
import { type ModelLimits, usableTokens } from "./usable-tokens.ts";

/** How much stays word for word: a pivot's tail by the usable window, a user summary's recent part by the settings. */
export function keepOf(input: KeepInput): Keep {
  const { settings = DEFAULT_COMPACTION_SETTINGS, limits, tailTokens } = input;
  if (input.representation === "pivot") {
    const tokens = tailTokens ?? defaultTailTokens(settings, limits);
    return { type: "tokens", tokens, atLeast: tokens > 0 ? 1 : 0 };
  }
  const limit = effectiveTokenLimit(settings, {
    contextWindowTokens: limits?.contextTokens ?? 0,
    ...(input.model && { model: input.model }),
  });
  const tokens = effectiveKeepRecentTokens(settings, limit);
  if (tokens > 0) return { type: "tokens", tokens, atLeast: 1 };
  const { keepRecent } = settings.keepRecent > 0 ? settings : DEFAULT_COMPACTION_SETTINGS;
  return { type: "messages", count: keepRecent };
}

export interface KeepInput {
  readonly representation: Representation;
  readonly settings?: CompactionSettings;
  /** The limits of the model that reads the conversation, where known. */
  readonly limits?: ModelLimits;
  /** That model, where it may have a threshold of its own. */
  readonly model?: ModelRef;
  /** A pivot's tail in tokens; 0 keeps none. Without it, a quarter of what is usable. */
  readonly tailTokens?: number;
}

const MIN_TAIL_TOKENS = 2_000;
const MAX_TAIL_TOKENS = 15_000;
const TAIL_SHARE = 0.25;

function defaultTailTokens(settings: CompactionSettings, limits: ModelLimits | undefined): number {
  const windowTokens = limits?.contextTokens ?? 0;
  const usable =
    limits !== undefined && windowTokens > 0
      ? usableTokens(limits)
      : (effectiveTokenLimit(settings, 0).limitTokens ?? Number.POSITIVE_INFINITY);
  const tokens = Math.min(MAX_TAIL_TOKENS, Math.max(MIN_TAIL_TOKENS, Math.floor(usable * TAIL_SHARE)));
  // The floor is meant for real windows; a tail must never fill a small one.
  return windowTokens > 0 ? Math.min(tokens, Math.floor(windowTokens / 2)) : tokens;
}
