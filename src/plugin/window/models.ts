import { type ModelLimits, type OverflowSettings, usableTokens } from "../../compaction/trigger/overflow.ts";
import { ABOUT_TO_SHARE } from "../../session/next-action.ts";
import { CACHE_PROFILES, type CacheProfile, cacheProfileFor } from "../../stages/cache-profiles.ts";
import type { ModelThresholds, PluginOptions } from "../context/options.ts";
import type { Feature } from "../host/features.ts";
import type { ModelFacts } from "../host/models.ts";

/** What the agent and the options say about the models that were used; a model is named "provider/model". */
export interface ModelWindows {
  thresholds(model: string): WindowThresholds;
  /** Unset until the agent has asked the model once. */
  windowOf(model: string): ModelWindow | undefined;
  readonly feature: Feature;
}

interface ModelWindow {
  readonly limits: ModelLimits;
  /** What a cached prompt costs; unset when the agent names no prices. */
  readonly cache?: CacheProfile;
}

/** What the options say about a model, in tokens. */
interface WindowThresholds {
  /** Below it nothing is pruned. */
  readonly pruneAtTokens: number;
  /** Newest tool output that pruning leaves alone; unset means the default. */
  readonly keepRecentTokens: number | undefined;
  /** How much a child may inherit unchanged; unset means half of its window. */
  readonly inheritAtMostTokens: number | undefined;
}

/** Learns the windows of the models that are used. */
export function createModelWindows(
  { models, prune }: Pick<PluginOptions, "models" | "prune">,
  overflow: Partial<OverflowSettings> = {},
): ModelWindows {
  const known = new Map<string, ModelWindow>();
  return {
    windowOf: (model) => known.get(model),
    thresholds(model) {
      const { pruneAt, keepRecent, inheritAtMost }: ModelThresholds = models[model] ?? {};
      const limits = known.get(model)?.limits;
      const windowTokens = limits?.contextTokens;
      const fullTokens = limits === undefined ? 0 : usableTokens(limits, overflow) * ABOUT_TO_SHARE;
      // A share of a window that is not known yet is never reached.
      const defaultTokens = prune === "auto" ? 0 : fullTokens > 0 ? fullTokens : Infinity;
      return {
        pruneAtTokens: toTokens(pruneAt, windowTokens) ?? (pruneAt === undefined ? defaultTokens : Infinity),
        keepRecentTokens: toTokens(keepRecent, windowTokens),
        inheritAtMostTokens: toTokens(inheritAtMost, windowTokens),
      };
    },
    feature: {
      name: "model windows",
      async onSignal(signal) {
        if (signal.type !== "request") return;
        const window = windowOf(signal.model);
        if (window !== undefined) known.set(`${signal.model.provider}/${signal.model.id}`, window);
      },
    },
  };
}

/** What the agent says about the prices of a cached prompt; what is known of the model's family where it says nothing, 0 where that is not known either. */
export function cachePrices(model: ModelFacts | undefined): {
  readonly cacheReadPrice: number;
  readonly cacheWritePrice: number;
} {
  const { prices } = model ?? {};
  if (prices !== undefined)
    return {
      cacheReadPrice: prices.cacheRead || prices.input,
      cacheWritePrice: prices.cacheWrite || prices.input,
    };
  const profile = cacheProfileFor({ id: model?.id ?? "" });
  if (profile === CACHE_PROFILES.none) return { cacheReadPrice: 0, cacheWritePrice: 0 };
  return { cacheReadPrice: profile.readMultiplier, cacheWritePrice: profile.writeMultiplier };
}

function windowOf(model: ModelFacts): ModelWindow | undefined {
  const { contextTokens = 0, outputTokens = 0, inputTokens = 0 } = model;
  if (contextTokens <= 0) return undefined;
  const cache = cacheProfileOf(model);
  const limits = { contextTokens, outputTokens: Math.max(0, outputTokens) };
  return {
    limits: inputTokens > 0 ? { ...limits, inputTokens } : limits,
    ...(cache && { cache }),
  };
}

/** The agent's own prices before those that go with the name; how long a prompt is kept only the name tells. */
function cacheProfileOf({ id, prices }: ModelFacts): CacheProfile | undefined {
  if (prices === undefined || !(prices.cacheRead > 0)) return undefined;
  const named = cacheProfileFor({ id });
  return {
    ...named,
    ttlMs: named.ttlMs > 0 ? named.ttlMs : UNKNOWN_TTL_MS,
    minimumTokens: named.minimumTokens > 0 ? named.minimumTokens : UNKNOWN_MINIMUM_TOKENS,
    readMultiplier: prices.cacheRead / prices.input,
    writeMultiplier: prices.cacheWrite > 0 ? prices.cacheWrite / prices.input : 1,
  };
}

/** What most providers keep a prompt for at least, and the shortest that they keep. */
const UNKNOWN_TTL_MS = 5 * 60_000;
const UNKNOWN_MINIMUM_TOKENS = 1_024;

/** A share of a window that is not known yet is undefined. */
function toTokens(
  threshold: number | string | undefined,
  windowTokens: number | undefined,
): number | undefined {
  if (threshold === undefined || typeof threshold === "number") return threshold;
  return windowTokens === undefined
    ? undefined
    : Math.floor((windowTokens * Number.parseFloat(threshold)) / 100);
}
