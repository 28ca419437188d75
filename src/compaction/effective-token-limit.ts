import type { ModelRef } from "../transcript/message.ts";
import {
  type CompactionSettings,
  DEFAULT_COMPACTION_SETTINGS,
  type Threshold,
  thresholdKey,
} from "./compaction-settings.ts";

/**
 * The number of tokens at which a conversation is compacted, and where that number comes from.
 * An unknown window (0) gives the fallback or no limit, never one that is always exceeded.
 */
export function effectiveTokenLimit(settings: LimitSettings, window: number | ModelWindow): TokenLimit {
  const { contextWindowTokens, model } =
    typeof window === "number" ? { contextWindowTokens: window } : window;
  const windowTokens = contextWindowTokens > 0 ? contextWindowTokens : 0;
  const roomTokens = windowTokens - reserveOf(settings);

  const threshold = thresholdTokens(thresholdOf(settings, model), windowTokens);
  if (threshold !== undefined) {
    return {
      limitTokens: windowTokens > 0 ? Math.min(threshold, windowTokens) : threshold,
      source: "threshold",
    };
  }
  if (roomTokens > 0) return { limitTokens: roomTokens, source: "context_window" };
  if (settings.maxTokens > 0) {
    const capTokens =
      windowTokens > 0 ? Math.max(1, Math.floor(windowTokens * FALLBACK_SHARE)) : settings.maxTokens;
    return { limitTokens: Math.min(settings.maxTokens, capTokens), source: "max_tokens" };
  }
  return { limitTokens: undefined, source: "none" };
}

/** The settings that decide the limit. */
export type LimitSettings = Pick<CompactionSettings, "maxTokens" | "reserveTokens"> &
  Partial<Pick<CompactionSettings, "thresholds">>;

/** A model's window, with the model where it may have a threshold of its own. 0 means unknown. */
export interface ModelWindow {
  readonly contextWindowTokens: number;
  readonly model?: ModelRef;
}

export interface TokenLimit {
  /** Undefined when nothing limits the tokens. */
  readonly limitTokens: number | undefined;
  readonly source: "threshold" | "context_window" | "max_tokens" | "none";
}

/** How many of the newest tokens stay word for word: as set, but at most half of the limit. */
export function effectiveKeepRecentTokens(
  settings: Pick<CompactionSettings, "keepRecentTokens">,
  { limitTokens }: Pick<TokenLimit, "limitTokens">,
): number {
  const keepTokens = settings.keepRecentTokens > 0 ? settings.keepRecentTokens : 0;
  const halfTokens = Math.floor((limitTokens ?? 0) / 2);
  return halfTokens > 0 ? Math.min(keepTokens, halfTokens) : keepTokens;
}

/** A fallback limit above this share of a known window would leave no room for the answer. */
const FALLBACK_SHARE = 0.8;

function reserveOf({ reserveTokens }: Pick<LimitSettings, "reserveTokens">): number {
  return reserveTokens >= 0 ? reserveTokens : DEFAULT_COMPACTION_SETTINGS.reserveTokens;
}

function thresholdOf({ thresholds }: LimitSettings, model: ModelRef | undefined): Threshold | undefined {
  if (thresholds === undefined || model === undefined) return undefined;
  const key = thresholdKey(model);
  return Object.hasOwn(thresholds, key) ? thresholds[key] : undefined;
}

function thresholdTokens(threshold: Threshold | undefined, windowTokens: number): number | undefined {
  if (threshold === undefined) return undefined;
  if ("tokens" in threshold) return threshold.tokens > 0 ? threshold.tokens : undefined;
  const tokens = Math.floor((windowTokens * threshold.percent) / 100);
  return tokens > 0 ? tokens : undefined;
}
