import type { ModelRef } from "../../transcript/message.ts";
import { type CompactAt, compactAtTokens, thresholdTokens } from "./compact-at.ts";
import { type CompactionSettings, DEFAULT_COMPACTION_SETTINGS } from "./compaction-settings.ts";
import { mostReserveTokens } from "./overflow.ts";

/**
 * The number of tokens at which a conversation is compacted, and where that number comes from.
 * An unknown window (0) gives the fallback or no limit, never one that is always exceeded.
 */
export function effectiveTokenLimit(settings: LimitSettings, window: number | ModelWindow): TokenLimit {
  if (typeof window === "number") return latestLimit(settings, { contextWindowTokens: window });
  const limit = latestLimit(settings, window);
  const earlierTokens = compactAtTokens(window);
  return earlierTokens < (limit.limitTokens ?? Number.POSITIVE_INFINITY)
    ? { limitTokens: earlierTokens, source: "compact_at" }
    : limit;
}

function latestLimit(
  settings: LimitSettings,
  { contextWindowTokens, model, profile, overheadTokens }: ModelWindow,
): TokenLimit {
  const windowTokens = contextWindowTokens > 0 ? contextWindowTokens : 0;
  const { reserveTokens } = settings.reserveTokens >= 0 ? settings : DEFAULT_COMPACTION_SETTINGS;
  const leftFreeTokens =
    profile === "default"
      ? Math.min(reserveTokens, mostReserveTokens(windowTokens, overheadTokens))
      : reserveTokens;
  const roomTokens = windowTokens - leftFreeTokens;

  const threshold = thresholdTokens(settings.thresholds, model, windowTokens);
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

/** The window that a limit is computed for. */
export interface ModelWindow {
  /** 0 when unknown. */
  readonly contextWindowTokens: number;
  /** The model, where it may have a threshold of its own. */
  readonly model?: ModelRef;
  /** `default`: the reserve is at most a share of the window. Unset, it is the documented one: as set, whatever the window. */
  readonly profile?: "default" | "documented";
  /** What the system prompt and the tools take; only the default profile asks. */
  readonly overheadTokens?: number;
  /** Where to compact earlier than at the limit. */
  readonly compactAt?: CompactAt;
}

/** A limit in tokens and the setting it comes from. */
export interface TokenLimit {
  /** Undefined when nothing limits the tokens. */
  readonly limitTokens: number | undefined;
  readonly source: "threshold" | "context_window" | "max_tokens" | "compact_at" | "none";
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

/** The largest share of a known window that the fallback limit may take, so that the answer has room. */
const FALLBACK_SHARE = 0.8;
