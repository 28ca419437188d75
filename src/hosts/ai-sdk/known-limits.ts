import type { ModelLimits } from "../../compaction/usable-tokens.ts";

/**
 * What a model takes, by its name; for a name that says nothing, what most models take today. A window that turns out
 * to be smaller is learned from the first refusal.
 */
export function knownLimits(modelId: string): ModelLimits {
  const name = modelId.toLowerCase();
  return RULES.find(([pattern]) => pattern.test(name))?.[1] ?? COMMON;
}

const COMMON: ModelLimits = { contextTokens: 128_000, outputTokens: 16_384 };

/** The first that fits counts. Gateways put a provider before the name and write versions with a dot or a dash. */
const RULES: readonly (readonly [RegExp, ModelLimits])[] = [
  [/claude/, { contextTokens: 200_000, outputTokens: 32_000 }],
  [/gpt-(?:5|[6-9])/, { contextTokens: 400_000, inputTokens: 272_000, outputTokens: 128_000 }],
  [/gpt-4[.-]1/, { contextTokens: 1_047_576, outputTokens: 32_768 }],
  [/(?:^|[/.])o[134]/, { contextTokens: 200_000, outputTokens: 100_000 }],
  [/gemini/, { contextTokens: 1_048_576, outputTokens: 65_536 }],
  [/grok-[4-9]/, { contextTokens: 256_000, outputTokens: 32_768 }],
  [/gpt-3[.-]5/, { contextTokens: 16_385, outputTokens: 4_096 }],
];
