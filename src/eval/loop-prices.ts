import { CACHE_PROFILES, type CacheProfile } from "../stages/provider-cache-profiles.ts";

/** What every replayed request is priced by. */
export const LOOP_PRICES: CacheProfile = CACHE_PROFILES.anthropic;

/** What stands in front of every request: instructions and tool definitions. */
export const LOOP_SYSTEM_CHARS = 60_000;
