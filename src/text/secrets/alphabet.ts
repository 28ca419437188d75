/** A set of ASCII characters, as a union of the bits below. */
export type Alphabet = number;

export const LOWER: Alphabet = 1;
export const UPPER: Alphabet = 2;
export const DIGIT: Alphabet = 4;
export const HEX: Alphabet = 8;
const DASH_UNDERSCORE: Alphabet = 16;
const PLUS_SLASH: Alphabet = 32;
const EQUALS: Alphabet = 64;
const DOT: Alphabet = 128;
const TILDE: Alphabet = 256;

export const ALPHANUMERIC: Alphabet = LOWER | UPPER | DIGIT;
export const WORD: Alphabet = ALPHANUMERIC | DASH_UNDERSCORE;
export const DOTTED: Alphabet = WORD | DOT;
export const PADDED: Alphabet = DOTTED | EQUALS;
export const BASE64: Alphabet = ALPHANUMERIC | PLUS_SLASH | EQUALS;
export const ANY_BASE64: Alphabet = WORD | PLUS_SLASH | EQUALS;
export const HEADER_TOKEN: Alphabet = DOTTED | PLUS_SLASH | EQUALS | TILDE;

/** Tells whether the character code belongs to the alphabet. */
export function isIn(alphabet: Alphabet, code: number): boolean {
  return code < 128 && ((BITS[code] ?? 0) & alphabet) !== 0;
}

/** Gives the index after the run of alphabet characters that starts at the index, at most `maxChars` on. */
export function endOfRun(
  text: string,
  startIndex: number,
  alphabet: Alphabet,
  maxChars: number = text.length,
): number {
  const limitIndex = Math.min(text.length, startIndex + maxChars);
  let index = startIndex;
  while (index < limitIndex && isIn(alphabet, text.charCodeAt(index))) index++;
  return index;
}

const BITS = new Uint16Array(128);
for (let code = 0; code < 128; code++) {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) BITS[code] = LOWER;
  if (/[A-Z]/.test(character)) BITS[code] = UPPER;
  if (/\d/.test(character)) BITS[code] = DIGIT;
  if (/[\da-fA-F]/.test(character)) BITS[code] = (BITS[code] ?? 0) | HEX;
  if (/[-_]/.test(character)) BITS[code] = DASH_UNDERSCORE;
  if (/[+/]/.test(character)) BITS[code] = PLUS_SLASH;
  if (character === "=") BITS[code] = EQUALS;
  if (character === ".") BITS[code] = DOT;
  if (character === "~") BITS[code] = TILDE;
}
