import type { HostModel } from "../../hosts/opencode/hooks.ts";
import { type CacheProfile, cacheProfileFor } from "../../stages/cache-profiles.ts";
import { asNumber, asObject } from "../../text/json.ts";
import type { ModelThresholds, PluginOptions } from "../context/options.ts";
import type { Feature } from "../host/features.ts";

/** What the host and the options say about the models that were used; a model is named "provider/model". */
export interface ModelWindows {
  thresholds(model: string): WindowThresholds;
  /** Unset until the host has asked the model once. */
  windowOf(model: string): ModelWindow | undefined;
  readonly feature: Feature;
}

/** A model as the host describes it. */
interface ModelWindow {
  readonly contextTokens: number;
  readonly outputTokens: number;
  /** What a cached prompt costs; unset when the host names no prices. */
  readonly cache?: CacheProfile;
}

/** What the options say about a model, in tokens. */
interface WindowThresholds {
  /** Below it nothing is pruned; 0 when the options say nothing. */
  readonly pruneAtTokens: number;
  /** Newest tool output that pruning leaves alone; unset means the default. */
  readonly keepRecentTokens: number | undefined;
  /** How much a child may inherit unchanged; unset means half of its window. */
  readonly inheritAtMostTokens: number | undefined;
}

/** Knows the windows of the models that were used. */
export function createModelWindows({ models }: Pick<PluginOptions, "models">): ModelWindows {
  const known = new Map<string, ModelWindow>();
  return {
    windowOf: (model) => known.get(model),
    thresholds(model) {
      const { pruneAt, keepRecent, inheritAtMost }: ModelThresholds = models[model] ?? {};
      const windowTokens = known.get(model)?.contextTokens;
      return {
        // A share of a window that nobody knows yet is not reached.
        pruneAtTokens: toTokens(pruneAt, windowTokens) ?? (pruneAt === undefined ? 0 : Infinity),
        keepRecentTokens: toTokens(keepRecent, windowTokens),
        inheritAtMostTokens: toTokens(inheritAtMost, windowTokens),
      };
    },
    feature: {
      name: "model windows",
      hooks: {
        "chat.params": async ({ model }) => {
          const window = readWindow(model);
          if (window !== undefined) known.set(`${model.providerID}/${model.id}`, window);
        },
      },
    },
  };
}

function readWindow(model: HostModel): ModelWindow | undefined {
  const contextTokens = asNumber(model.limit?.context) ?? 0;
  if (!(contextTokens > 0)) return undefined;
  const cache = readPrices(model);
  return {
    contextTokens,
    outputTokens: Math.max(0, asNumber(model.limit?.output) ?? 0),
    ...(cache && { cache }),
  };
}

/** The host's own prices before those that go with the name; how long a prompt is kept only the name tells. */
function readPrices({ id, cost }: HostModel): CacheProfile | undefined {
  const { input, cache } = asObject(cost);
  const [price, read, write] = [input, asObject(cache).read, asObject(cache).write].map(
    (each) => asNumber(each) ?? 0,
  ) as [number, number, number];
  if (!(price > 0) || !(read > 0)) return undefined;
  const named = cacheProfileFor({ id });
  return {
    ...named,
    ttlMs: named.ttlMs > 0 ? named.ttlMs : UNKNOWN_TTL_MS,
    minimumTokens: named.minimumTokens > 0 ? named.minimumTokens : UNKNOWN_MINIMUM_TOKENS,
    readMultiplier: read / price,
    writeMultiplier: write > 0 ? write / price : 1,
  };
}

/** What most providers keep a prompt for at least, and the shortest that they keep. */
const UNKNOWN_TTL_MS = 5 * 60_000;
const UNKNOWN_MINIMUM_TOKENS = 1_024;

/** A share of a window that is not known yet says nothing. */
function toTokens(
  threshold: number | string | undefined,
  windowTokens: number | undefined,
): number | undefined {
  if (threshold === undefined || typeof threshold === "number") return threshold;
  return windowTokens === undefined
    ? undefined
    : Math.floor((windowTokens * Number.parseFloat(threshold)) / 100);
}
