import type { Lexicon } from "./lexicon.ts";
import type { Random } from "./random.ts";

/** Makes one block of text of some kind; blocks are joined until there is enough. */
export type Sampler = (random: Random, lexicon: Lexicon) => string;

/** Texts of exactly `chars` characters, made by one sampler. */
export function sampleChunks(
  sampler: Sampler,
  { random, lexicon, chars, count }: SampleOptions,
): readonly string[] {
  return Array.from({ length: count }, () => {
    let text = "";
    while (text.length < chars) text += sampler(random, lexicon);
    return text.slice(0, chars);
  });
}

export interface SampleOptions {
  readonly random: Random;
  readonly lexicon: Lexicon;
  readonly chars: number;
  readonly count: number;
}

/** `count` pieces, joined. */
export function repeat(count: number, make: (index: number) => string, separator = ""): string {
  return Array.from({ length: count }, (_, index) => make(index)).join(separator);
}

/** Some letters, digits or other characters, each drawn from an alphabet. */
export function draw(random: Random, alphabet: string, count: number): string {
  let text = "";
  for (let index = 0; index < count; index++) text += alphabet.charAt(random.below(alphabet.length));
  return text;
}

export function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

export const DIGITS = "0123456789";
export const HEX = "0123456789abcdef";
export const LOWER = "abcdefghijklmnopqrstuvwxyz";
export const BASE64: string = `${LOWER.toUpperCase()}${LOWER}${DIGITS}+/`;
