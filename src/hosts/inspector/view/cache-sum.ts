import { breakEvenSteps } from "../../../fork/choose-fork-way.ts";
import { CACHE_PROFILES, type CacheProfile } from "../../../stages/provider-cache-profiles.ts";
import type { CacheSum } from "./types.ts";

/** What a changed window costs against the unchanged one, at the prices of a provider's cache. */
export function cacheSum({
  profile,
  unchangedTokens,
  changedTokens,
  sharedTokens,
  steps,
}: CacheSumInput): CacheSum {
  const { readMultiplier, writeMultiplier } = profile;
  const readTokens = Math.min(sharedTokens, changedTokens);
  const writtenTokens = changedTokens - readTokens;
  const firstBaseTokens = readTokens * readMultiplier + writtenTokens * writeMultiplier;
  const appendOnlyBaseTokens = unchangedTokens * readMultiplier;
  const total = firstBaseTokens + (steps - 1) * changedTokens * readMultiplier;
  const evenSteps = breakEvenSteps({
    // What is shared is read either way.
    fullTokens: unchangedTokens - readTokens,
    graduatedTokens: writtenTokens,
    cacheReadPrice: readMultiplier,
    cacheWritePrice: writeMultiplier,
  });
  return {
    pricesKnown: profile !== CACHE_PROFILES.none,
    readMultiplier,
    writeMultiplier,
    readTokens,
    writtenTokens,
    firstBaseTokens,
    appendOnlyBaseTokens,
    relativeCost: appendOnlyBaseTokens === 0 ? 1 : total / (steps * appendOnlyBaseTokens),
    expectedSteps: steps,
    ...(Number.isFinite(evenSteps) && { breakEvenSteps: evenSteps }),
  };
}

export interface CacheSumInput {
  readonly profile: CacheProfile;
  /** The next request when nothing is changed, all of it cached. */
  readonly unchangedTokens: number;
  readonly changedTokens: number;
  /** What both begin with. */
  readonly sharedTokens: number;
  /** Requests that follow, counting the next one. */
  readonly steps: number;
}
