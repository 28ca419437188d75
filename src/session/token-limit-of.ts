import type { CompactionSettings } from "../compaction/compaction-settings.ts";
import { effectiveTokenLimit, type TokenLimit } from "../compaction/effective-token-limit.ts";
import type { ModelLimits } from "../compaction/usable-tokens.ts";
import type { ModelRef } from "../transcript/message.ts";

/** The number of tokens at which a window is compacted, for the model that is asked next. */
export function tokenLimitOf({ settings, limits, model }: LimitedWindow): TokenLimit {
  return effectiveTokenLimit(settings, {
    contextWindowTokens: limits.contextTokens,
    ...(model && { model }),
  });
}

/** What decides the limit of a window; it may change while a session runs. */
export interface LimitedWindow {
  readonly settings: CompactionSettings;
  readonly limits: ModelLimits;
  readonly model: ModelRef | undefined;
}
