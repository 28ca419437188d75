/**
 * A text as a difference from a base text: a list of literal texts and of pairs of numbers (start, length). A pair
 * copies from the base. Positions behind the end of the base copy from the part of the result that is already
 * written.
 */
export type TextDelta = readonly (string | number)[];

/**
 * Encodes a text as a difference from a base. Never splits a surrogate pair, because some JSON stores refuse lone
 * surrogates.
 */
export function encodeDelta(text: string, base: string): TextDelta {
  const delta: (string | number)[] = [];
  const blocks = new Map<string, number>();
  for (let at = 0; at + BLOCK_CHARS <= base.length; at += BLOCK_CHARS)
    blocks.set(base.slice(at, at + BLOCK_CHARS), at);
  let written = 0;
  let indexed = 0;
  let at = 0;
  while (at + BLOCK_CHARS <= text.length) {
    for (; indexed + BLOCK_CHARS <= at; indexed += BLOCK_CHARS)
      blocks.set(text.slice(indexed, indexed + BLOCK_CHARS), base.length + indexed);
    const found = blocks.get(text.slice(at, at + BLOCK_CHARS));
    const match = found === undefined ? undefined : matchAround({ text, base, written, at }, found);
    if (match === undefined) {
      at++;
      continue;
    }
    const { textStart, sourceStart, chars } = match;
    if (textStart > written) delta.push(text.slice(written, textStart));
    delta.push(sourceStart, chars);
    at = textStart + chars;
    written = at;
  }
  if (written < text.length) delta.push(text.slice(written));
  return delta;
}

/** The text that was encoded against this base; undefined where the delta was made against another base. */
export function decodeDelta(delta: readonly unknown[], base: string): string | undefined {
  let text = "";
  for (let index = 0; index < delta.length; index++) {
    const piece = delta[index];
    if (typeof piece === "string") {
      text += piece;
      continue;
    }
    const chars = delta[++index];
    if (!isCount(piece) || !isCount(chars)) return undefined;
    const isOfBase = piece < base.length;
    const start = isOfBase ? piece : piece - base.length;
    const source = isOfBase ? base : text;
    if (start + chars > source.length) return undefined;
    text += source.slice(start, start + chars);
  }
  return text;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Blocks of the base start at multiples of this, so an equal piece of twice this length is always found. */
const BLOCK_CHARS = 8;
/** A shorter piece costs less as literal text than as a pair of numbers. */
const MIN_PIECE_CHARS = 14;

interface Scan {
  readonly text: string;
  readonly base: string;
  /** How many characters of the text are encoded so far. */
  readonly written: number;
  readonly at: number;
}

interface Match {
  readonly textStart: number;
  readonly sourceStart: number;
  readonly chars: number;
}

/** The longest equal piece around a block; undefined when it is too short. */
function matchAround({ text, base, written, at }: Scan, found: number): Match | undefined {
  const isOfBase = found < base.length;
  const source = isOfBase ? base : text;
  const start = isOfBase ? found : found - base.length;
  let before = 0;
  while (
    at - before > written &&
    start - before > 0 &&
    // A copy from the text itself may only use what is already encoded.
    (isOfBase || before < at - start) &&
    source.charCodeAt(start - before - 1) === text.charCodeAt(at - before - 1)
  )
    before++;
  let after = 0;
  while (
    start + after < (isOfBase ? base.length : at - before) &&
    at + after < text.length &&
    source.charCodeAt(start + after) === text.charCodeAt(at + after)
  )
    after++;
  let textStart = at - before;
  let textEnd = at + after;
  if (isLowSurrogate(text.charCodeAt(textStart))) textStart++;
  if (isHighSurrogate(text.charCodeAt(textEnd - 1))) textEnd--;
  const chars = textEnd - textStart;
  if (chars < MIN_PIECE_CHARS) return undefined;
  return { textStart, chars, sourceStart: found - before + (textStart - (at - before)) };
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
