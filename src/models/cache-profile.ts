import { check, limitFrom, numberFrom, type Rule, required, rule, type Shape } from "../text/check.ts";
import { isObject } from "../text/unknown-value.ts";
import { type ModelFacts, type ModelLookup, modelFacts } from "./model-facts.ts";
import type { ModelRef } from "./model-ref.ts";
import { lifeMs } from "./model-row.ts";

/** The cache profile of a model. `life` is how long prompts are asked to be kept, such as "1h". */
export function cacheProfile(
  model: Partial<ModelRef>,
  { life, ...lookup }: ModelLookup & { readonly life?: string } = {},
): CacheProfile {
  return cacheProfileOf(modelFacts(model, lookup), life);
}

/** The same for facts that are already looked up. */
export function cacheProfileOf({ cache }: Pick<ModelFacts, "cache">, life?: string): CacheProfile {
  if (cache === "none") return NO_CACHE;
  const kept = life ?? cache.lives[0] ?? "5m";
  return {
    readMultiplier: cache.readFactor,
    writeMultiplier: cache.writeFactor[kept] ?? 1,
    ttlMs: lifeMs(kept),
    minimumTokens: cache.leastTokens,
    stepTokens: cache.stepTokens,
  };
}

/** The prices of a provider's prompt cache in multiples of the price of input, and when it applies. */
export interface CacheProfile {
  /** What a token costs that is read from the cache. @default by the model's name */
  readonly readMultiplier: number;
  /** What a token costs that is written to the cache. @default by the model's name */
  readonly writeMultiplier: number;
  /** After this long without a request the prefix is certainly gone; it may be gone sooner. @default by the model's name */
  readonly ttlMs: number;
  /** A shorter prompt is not cached at all. @default by the model's name */
  readonly minimumTokens: number;
  /** Only whole steps of a prefix are reused. @default by the model's name */
  readonly stepTokens: number;
}

/** No cache: every request pays for its whole prompt. */
export const NO_CACHE: CacheProfile = {
  readMultiplier: 1,
  writeMultiplier: 1,
  ttlMs: 0,
  minimumTokens: 0,
  stepTokens: 1,
};

const CACHE_PROFILE_SHAPE: Shape<CacheProfile> = {
  readMultiplier: required(numberFrom(0)),
  writeMultiplier: required(numberFrom(0)),
  // Infinity means that the cache never expires.
  ttlMs: required(limitFrom(0)),
  minimumTokens: required(numberFrom(0)),
  stepTokens: required(numberFrom(1)),
};

/** The option `cache`. */
export const CACHE_PROFILE_RULE: Rule = {
  expects: 'a profile such as cacheProfile({ id: "claude-opus-5-5" }, { life: "1h" }) gives',
  find: (value, path) =>
    isObject(value)
      ? check(CACHE_PROFILE_SHAPE, value, path)
      : rule(CACHE_PROFILE_RULE.expects, isObject).find(value, path),
};
