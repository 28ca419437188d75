import { anyOf } from "./any-of.ts";

/** True when an error is about the length of the answer alone: a parameter out of range, or an answer cut short. */
export function isOutputLimit(words: string): boolean {
  if (STOPPED.test(words)) return true;
  if (!OUTPUT.test(words) || INPUT_COUNTED.test(words)) return false;
  // An answer that outgrows the window is an overflow, not a parameter out of range.
  return !/\bexceed\w*\b.*\bcontext[ _-]?(?:length|window|limit|size)/.test(words);
}

const STOPPED =
  /^(?:(?:finish|stop)[ _]?reason\W{0,3})?(?:length|max[_ ]?(?:(?:output|completion)[_ ]?)?tokens|max length)(?: reached)?\W*$/;

const OUTPUT = anyOf(
  /\bmax_?(?:completion_?|new_?|output_?)?tokens\b|\bbudget_tokens\b|thinking budget/,
  /\bmax(?:imum)? (?:output|completion|new|response|generation|generated) (?:tokens?|length)\b/,
  /\bmaximum tokens (?:you )?(?:requested|value|parameter|setting)/,
  /\b(?:output|completion|response|thinking|reasoning)[ _-]tokens?\b|\boutput (?:token )?(?:limit|length)/,
  /\bmax(?:imum)? tokens?\b.{0,30}\b(?:response|answer|completion|generation|reply)\b/,
  /输出(?:长度|token)/,
);

const INPUT_COUNTED = anyOf(
  /\b(?:inputs?|prompts?|messages|message tokens?|conversation|history|prediction)\b|input_tokens|prompt_tokens/,
  /\btotal tokens\b|\btotal (?:number )?of\b|\btoken count\b/,
);
