import { check, limitFrom, numberFrom, type Rule, required, rule, type Shape } from "../text/check.ts";
import { isObject } from "../text/json.ts";
import type { ModelRef } from "../transcript/message.ts";

/**
 * How providers charge for a prompt they have seen before, as multiples of the price of an ordinary input token.
 * Prices change: start from a profile and overwrite what you know better. Sources: `docs/decisions/0007`.
 */
export const CACHE_PROFILES: Readonly<Record<CacheProfileName, CacheProfile>> = {
  anthropic: profile({ read: 0.1, write: 1.25, ttlMinutes: 5, minimumTokens: 1_024 }),
  "anthropic-1h": profile({ read: 0.1, write: 2, ttlMinutes: 60, minimumTokens: 1_024 }),
  "anthropic-4.5": profile({ read: 0.1, write: 1.25, ttlMinutes: 5, minimumTokens: 4_096 }),
  "anthropic-fable-5.1": profile({ read: 0.025, write: 1.25, ttlMinutes: 5, minimumTokens: 1_024 }),
  "openai-gpt-4o": profile({ read: 0.5, write: 1, ttlMinutes: 60, minimumTokens: 1_024, stepTokens: 128 }),
  "openai-gpt-4.1": profile({ read: 0.25, write: 1, ttlMinutes: 60, minimumTokens: 1_024, stepTokens: 128 }),
  "openai-gpt-5": profile({ read: 0.1, write: 1, ttlMinutes: 60, minimumTokens: 1_024, stepTokens: 128 }),
  "openai-gpt-5.6": profile({
    read: 0.1,
    write: 1.25,
    ttlMinutes: 24 * 60,
    minimumTokens: 1_024,
    stepTokens: 128,
  }),
  gemini: profile({ read: 0.1, write: 1, ttlMinutes: 60, minimumTokens: 4_096 }),
  "gemini-2.5": profile({ read: 0.1, write: 1, ttlMinutes: 60, minimumTokens: 2_048 }),
  deepseek: profile({ read: 0.02, write: 1, ttlMinutes: 24 * 60, minimumTokens: 64, stepTokens: 64 }),
  "deepseek-pro": profile({ read: 1 / 30, write: 1, ttlMinutes: 24 * 60, minimumTokens: 64, stepTokens: 64 }),
  none: profile({ read: 1, write: 1, ttlMinutes: 0, minimumTokens: 0 }),
};

/** The prices of a provider's prompt cache, and when it applies. */
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

const CACHE_PROFILE_SHAPE: Shape<CacheProfile> = {
  readMultiplier: required(numberFrom(0)),
  writeMultiplier: required(numberFrom(0)),
  // Infinity is a cache that never ends.
  ttlMs: required(limitFrom(0)),
  minimumTokens: required(numberFrom(0)),
  stepTokens: required(numberFrom(1)),
};

/** A profile: a known one, or one of your own. */
export const CACHE_PROFILE_RULE: Rule = {
  expects: "a profile such as CACHE_PROFILES.anthropic of carryover/stages",
  find(value, path) {
    if (isObject(value)) return check(CACHE_PROFILE_SHAPE, value, path);
    const isName = typeof value === "string" && Object.hasOwn(CACHE_PROFILES, value);
    const expects = isName
      ? `CACHE_PROFILES[${JSON.stringify(value)}] of carryover/stages`
      : CACHE_PROFILE_RULE.expects;
    return rule(expects, isObject).find(value, path);
  },
};

/** The names of the known profiles. */
export type CacheProfileName =
  | "anthropic"
  | "anthropic-1h"
  | "anthropic-4.5"
  | "anthropic-fable-5.1"
  | "openai-gpt-4o"
  | "openai-gpt-4.1"
  | "openai-gpt-5"
  | "openai-gpt-5.6"
  | "gemini"
  | "gemini-2.5"
  | "deepseek"
  | "deepseek-pro"
  | "none";

/** The profile for a model by its name, whichever provider serves it; `none` for an unknown name. */
export function cacheProfileFor({ id }: Pick<ModelRef, "id">): CacheProfile {
  const name = id.toLowerCase();
  const rule = MODEL_RULES.find(([pattern]) => pattern.test(name));
  return CACHE_PROFILES[rule?.[1] ?? "none"];
}

/** The first match counts. Gateways put a provider before the name and write versions with a dot or a dash. */
const MODEL_RULES: readonly (readonly [RegExp, CacheProfileName])[] = [
  [/claude-(?:fable|mythos)-5[.-]1/, "anthropic-fable-5.1"],
  [/claude-(?:opus-4[.-][56]|haiku-4[.-]5)/, "anthropic-4.5"],
  [/claude/, "anthropic"],
  [/gpt-4o|chatgpt-4o|(?:^|[/.])o1/, "openai-gpt-4o"],
  [/gpt-4[.-]1|(?:^|[/.])o[34]/, "openai-gpt-4.1"],
  [/gpt-(?:5[.-](?:[6-9]|[1-9]\d)|[6-9])/, "openai-gpt-5.6"],
  [/gpt-5/, "openai-gpt-5"],
  [/gemini-2[.-]5/, "gemini-2.5"],
  [/gemini/, "gemini"],
  [/deepseek.*pro/, "deepseek-pro"],
  [/deepseek/, "deepseek"],
];

interface ProfileFigures {
  readonly read: number;
  readonly write: number;
  readonly ttlMinutes: number;
  readonly minimumTokens: number;
  readonly stepTokens?: number;
}

function profile({ read, write, ttlMinutes, minimumTokens, stepTokens = 1 }: ProfileFigures): CacheProfile {
  return {
    readMultiplier: read,
    writeMultiplier: write,
    ttlMs: ttlMinutes * 60_000,
    minimumTokens,
    stepTokens,
  };
}
