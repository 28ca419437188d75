import { normalizeText } from "../text/normalize.ts";
import { headCut } from "../text/truncate.ts";

/** The size of a well-formed text. */
export function textSize(text: string): TextSize {
  return measureText(text).size;
}

/** How long a text is in the three units that tool outputs are limited by. */
export interface TextSize {
  readonly lines: number;
  /** Code points. */
  readonly chars: number;
  /** Bytes of UTF-8. */
  readonly bytes: number;
}

/** Counts a well-formed text, and looks whether it needs normalizing, in one pass. */
export function measureText(text: string): TextMeasure {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(roundUpToWord(Math.min(text.length, SLICE_UNITS) * MAX_BYTES_PER_UNIT));
  let extraBytes = 0;
  let pairs = 0;
  let lineBreaks = 0;
  let isNormal = true;
  for (const slice of slices(text)) {
    const { written } = encoder.encodeInto(slice, bytes);
    const plainLineBreaks = written === slice.length ? countPlainLineBreaks(bytes, written) : NOT_PLAIN;
    if (plainLineBreaks !== NOT_PLAIN) {
      lineBreaks += plainLineBreaks;
      continue;
    }
    extraBytes += written - slice.length;
    for (let index = 0; index < written; index++) {
      const byte = bytes[index] ?? 0;
      if (byte === LINE_FEED) lineBreaks++;
      else if (byte >= FIRST_BYTE_OF_PAIR) pairs++;
    }
    isNormal &&= normalizeText(slice) === slice;
  }
  const hasOpenLine = text !== "" && !text.endsWith("\n");
  const size = {
    lines: lineBreaks + (hasOpenLine ? 1 : 0),
    chars: text.length - pairs,
    bytes: text.length + extraBytes,
  };
  return { size, isNormal };
}

/** The result of one pass over a text. */
interface TextMeasure {
  readonly size: TextSize;
  /** True when normalizing certainly changes nothing. */
  readonly isNormal: boolean;
}

/** The sum of two sizes. */
export function addSizes(first: TextSize, second: TextSize): TextSize {
  return {
    lines: first.lines + second.lines,
    chars: first.chars + second.chars,
    bytes: first.bytes + second.bytes,
  };
}

export const NO_SIZE: TextSize = { lines: 0, chars: 0, bytes: 0 };
const SLICE_UNITS = 65_536;
const MAX_BYTES_PER_UNIT = 3;

function* slices(text: string): Generator<string, void, undefined> {
  for (let start = 0; start < text.length; ) {
    const end = headCut(text, Math.min(text.length, start + SLICE_UNITS));
    yield text.slice(start, end);
    start = end;
  }
}

const NOT_PLAIN = -1;
const TAB = 0x09;

// A UTF-8 sequence of four bytes starts with this or more; only surrogate pairs need four bytes.
const FIRST_BYTE_OF_PAIR = 0xf0;
const BYTES_PER_WORD = 4;

function roundUpToWord(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_WORD) * BYTES_PER_WORD;
}

/**
 * Counts line breaks of plain ASCII (no controls except tab and line feed), which most output is: one character is
 * one unit and one byte, and nothing needs normalizing. Checks four bytes at once, because huge outputs spend their
 * time here. Gives `NOT_PLAIN` for other text.
 */
function countPlainLineBreaks(bytes: Uint8Array, end: number): number {
  const words = new Int32Array(bytes.buffer, 0, Math.floor(end / BYTES_PER_WORD));
  let count = 0;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? 0;
    const hasBelowSpace = (word - 0x20202020) & ~word;
    const hasDelete = word + 0x01010101;
    if (((hasBelowSpace | hasDelete) & 0x80808080) === 0) continue;
    const inWord = countPlainBytes(bytes, index * BYTES_PER_WORD, (index + 1) * BYTES_PER_WORD);
    if (inWord === NOT_PLAIN) return NOT_PLAIN;
    count += inWord;
  }
  const inRest = countPlainBytes(bytes, words.length * BYTES_PER_WORD, end);
  return inRest === NOT_PLAIN ? NOT_PLAIN : count + inRest;
}

function countPlainBytes(bytes: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (let index = start; index < end; index++) {
    const byte = bytes[index] ?? 0;
    if (byte === LINE_FEED) count++;
    else if ((byte < 0x20 && byte !== TAB) || byte === 0x7f) return NOT_PLAIN;
  }
  return count;
}

const LINE_FEED = 0x0a;
