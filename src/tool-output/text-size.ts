import { normalizeText } from "../text/normalize-text.ts";
import { headCut } from "../text/truncate.ts";

/** How long a text is in the three units that tool outputs are limited by. */
export interface TextSize {
  readonly lines: number;
  /** Code points. */
  readonly chars: number;
  /** Bytes of UTF-8. */
  readonly bytes: number;
}

/** The size of a well-formed text. */
export function textSize(text: string): TextSize {
  return surveyText(text).size;
}

/** What one pass over a text finds out without copying it. */
export interface TextSurvey {
  readonly size: TextSize;
  /** Whether normalizing would change nothing; true is certain, false may be too careful. */
  readonly isNormal: boolean;
}

/** Counts a well-formed text, and looks whether it needs normalizing, in one pass. */
export function surveyText(text: string): TextSurvey {
  const encoder = new TextEncoder();
  let extraBytes = 0;
  let pairs = 0;
  let lineBreaks = 0;
  let isNormal = true;
  let encoded: Uint8Array | undefined;
  for (const slice of slices(text)) {
    lineBreaks += countLineBreaks(slice);
    if (isPlain(slice)) continue;
    encoded ??= new Uint8Array(Math.min(text.length, SLICE_UNITS) * MAX_BYTES_PER_UNIT);
    extraBytes += encoder.encodeInto(slice, encoded).written - slice.length;
    pairs += countPairs(slice);
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

const NOT_PLAIN = /[^\t\n\x20-\x7e]/;

/** Most output is plain ASCII: one character is one unit and one byte there, and there is nothing to normalize. */
function isPlain(slice: string): boolean {
  return !NOT_PLAIN.test(slice);
}

const SURROGATE = /[\ud800-\udfff]/;

function countPairs(slice: string): number {
  const first = slice.search(SURROGATE);
  if (first < 0) return 0;
  let pairs = 0;
  for (let index = first; index < slice.length; index++) {
    if ((slice.charCodeAt(index) & 0xfc00) === 0xdc00) pairs++;
  }
  return pairs;
}

const MANY_BREAKS = SLICE_UNITS / 16;

function countLineBreaks(slice: string): number {
  let count = 0;
  let index = slice.indexOf("\n");
  while (index >= 0) {
    count++;
    // Searching is fast between lines of usual length and slow between empty ones.
    if (count === MANY_BREAKS) return count + countLineBreaksByUnit(slice, index + 1);
    index = slice.indexOf("\n", index + 1);
  }
  return count;
}

function countLineBreaksByUnit(slice: string, start: number): number {
  let count = 0;
  for (let index = start; index < slice.length; index++) if (slice.charCodeAt(index) === 0x0a) count++;
  return count;
}
