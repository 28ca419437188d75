import { gone, readOptions, rule, type Shape } from "../text/check.ts";
import { normalizeText } from "../text/normalize.ts";
import { headCut } from "../text/truncate.ts";

/** How much of one tool output may enter the context; 0 turns a limit off. */
export interface ToolOutputLimits {
  /** Lines that may stay; CRLF is one line break, and a trailing one adds no line. @default 2,000 */
  readonly maxLines: number;
  /** Bytes of UTF-8 that may stay. @default 51,200 */
  readonly maxBytes: number;
  /** Code points that may stay, not UTF-16 units. @default 204,800 */
  readonly maxChars: number;
  /** An output with more code points than this is kept in the store and shown as a preview; negative means the default. @default 204,800 */
  readonly largeOutputThreshold: number;
  /** Which part of a long output stays. @default head_tail */
  readonly truncateMode: TruncateMode;
}

/** Which part of a long output stays: the beginning, or the beginning and the end. */
export type TruncateMode = "head" | "head_tail";

/** Limits as people write them: what is not given is off, and an empty mode is head_tail. */
export type RawToolOutputLimits = {
  readonly [Name in Exclude<keyof ToolOutputLimits, "truncateMode">]?: number | undefined;
} & { readonly truncateMode?: TruncateMode | "" | undefined };

/** The limits when none are given. */
export const DEFAULT_TOOL_OUTPUT_LIMITS: ToolOutputLimits = Object.freeze({
  maxLines: 2_000,
  maxBytes: 51_200,
  maxChars: 204_800,
  largeOutputThreshold: 204_800,
  truncateMode: "head_tail",
});

/** The defaults when nothing is given, else what is given and the rest off; throws one error that lists every problem. */
export function resolveToolOutputLimits(given?: unknown): ToolOutputLimits {
  return given === undefined ? DEFAULT_TOOL_OUTPUT_LIMITS : readLimits(given, OFF);
}

/** What is given, completed with the defaults; throws one error that lists every problem. */
export function completeToolOutputLimits(given?: unknown): ToolOutputLimits {
  return given === undefined ? DEFAULT_TOOL_OUTPUT_LIMITS : readLimits(given, DEFAULT_TOOL_OUTPUT_LIMITS);
}

/** True when a size keeps all three limits. */
export function isWithinLimits(size: TextSize, { maxLines, maxChars, maxBytes }: ToolOutputLimits): boolean {
  return (
    (maxLines === 0 || size.lines <= maxLines) &&
    (maxChars === 0 || size.chars <= maxChars) &&
    (maxBytes === 0 || size.bytes <= maxBytes)
  );
}

const OFF: ToolOutputLimits = {
  maxLines: 0,
  maxBytes: 0,
  maxChars: 0,
  largeOutputThreshold: 0,
  truncateMode: "head_tail",
};

// Between 0 and 1 a limit would be rounded down to 0 and so turned off, the opposite of what was asked.
const LIMIT = rule(
  "0 for no limit, or a number of 1 or more",
  (value) => value === 0 || (typeof value === "number" && value >= 1),
);

/** What each limit may be. */
export const TOOL_OUTPUT_LIMIT_SHAPE: Shape<ToolOutputLimits> = {
  maxLines: LIMIT,
  maxBytes: LIMIT,
  maxChars: LIMIT,
  largeOutputThreshold: rule(
    "0 to store nothing, a number of 1 or more, or a negative one for the default",
    (value) => typeof value === "number" && (value <= 0 || value >= 1),
  ),
  truncateMode: rule(
    '"head" or "head_tail"',
    (value) => value === "head" || value === "head_tail" || value === "",
  ),
};

/** The limits that people set; the other two are for the documented profile. */
export const OUTPUT_LIMIT_SHAPE: Shape<ToolOutputLimits> = {
  ...gone({
    largeOutputThreshold: 'give maxChars, or profile "documented"',
    truncateMode: 'leave it out: both ends stay; or profile "documented"',
  }),
  maxLines: LIMIT,
  maxBytes: LIMIT,
  maxChars: LIMIT,
};

function readLimits(given: unknown, defaults: ToolOutputLimits): ToolOutputLimits {
  const { largeOutputThreshold, truncateMode, ...limits } = readOptions(
    TOOL_OUTPUT_LIMIT_SHAPE,
    defaults,
    given,
  );
  const whole = (limit: number): number => (limit === Number.POSITIVE_INFINITY ? 0 : Math.floor(limit));
  return {
    maxLines: whole(limits.maxLines),
    maxBytes: whole(limits.maxBytes),
    maxChars: whole(limits.maxChars),
    largeOutputThreshold:
      largeOutputThreshold < 0
        ? DEFAULT_TOOL_OUTPUT_LIMITS.largeOutputThreshold
        : whole(largeOutputThreshold),
    truncateMode: truncateMode === "head" ? "head" : "head_tail",
  };
}

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
  return measureText(text).size;
}

/** What one pass over a text finds out without copying it. */
interface TextMeasure {
  readonly size: TextSize;
  /** Whether normalizing would change nothing; true is certain, false may be too careful. */
  readonly isNormal: boolean;
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
const LINE_FEED = 0x0a;
const TAB = 0x09;
// Four bytes begin with it or more, and only what is a pair of units takes four.
const FIRST_BYTE_OF_PAIR = 0xf0;
const BYTES_PER_WORD = 4;

function roundUpToWord(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_WORD) * BYTES_PER_WORD;
}

/**
 * The line breaks in ASCII that has no controls but tabs and line breaks, as most output is: there a character is
 * one unit and one byte, and nothing to normalize. Looks at four bytes at once: huge outputs spend their time here.
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
