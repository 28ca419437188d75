import { anyOf } from "./any-of.ts";
import type { TokenFigures } from "./read-token-figures.ts";

/** True when the input alone would fit, so that asking for a shorter answer may be enough. */
export function isForOutput(
  words: string,
  { inputTokens, outputTokens, limitTokens }: TokenFigures,
): boolean {
  if (outputTokens === 0) return false;
  if (inputTokens !== undefined && limitTokens !== undefined && inputTokens >= limitTokens) return false;
  return outputTokens !== undefined || INPUT_PLUS_OUTPUT.test(words);
}

const INPUT_PLUS_OUTPUT = anyOf(
  /\b(?:inputs?|prompt|messages?)(?: length| size)?(?: tokens?)? ?(?:and|\+|plus) ?(?:the )?(?:requested |maximum |max )?(?:max_\w*tokens|max tokens|output|completion|prediction|generat\w+|new tokens)/,
  /\bmax_\w*tokens\b ?(?:\([^)]*\) ?)?(?:and|\+|plus) ?(?:the )?(?:inputs?|prompt|messages?)/,
  /\bmax_\w*tokens\b (?:\([^)]*\) )?(?:would |will )?exceeds?\b/,
);
