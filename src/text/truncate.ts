import { ConfigurationError, show } from "./check.ts";
import { mapStrings, safeJson, tryJson } from "./json.ts";

/** Shortens a text to a number of kept characters (UTF-16 units) plus a marker that says how many are missing. */
export function truncate(text: string, options: TruncateOptions): Truncation {
  const limitChars = checkLimit(options.limitChars);
  if (text.length <= limitChars) return { text };

  const { headChars, tailChars } = splitLimit(limitChars, options);
  const headEnd = headCut(text, headChars);
  const tailStart = tailCut(text, text.length - tailChars);
  const omittedChars = tailStart - headEnd;
  const method = tailChars === 0 ? "head" : "head-tail";
  const marker = truncationMarker(omittedChars, method);

  const length = headEnd + marker.length + (text.length - tailStart);
  if (length >= text.length) return { text };
  return {
    text: text.slice(0, headEnd) + marker + text.slice(tailStart),
    cut: { method, originalChars: text.length, omittedChars, limitChars },
  };
}

export interface TruncateOptions {
  /** Characters of the original that may stay; the marker is extra. Infinity keeps everything. */
  readonly limitChars: number;
  readonly method: "head" | "head-tail";
  readonly headRatio?: number;
  readonly tailRatio?: number;
}

/** The shortened text; `cut` is unset when nothing was left out. */
interface Truncation {
  readonly text: string;
  readonly cut?: Cut & Pick<TruncateOptions, "method">;
}

/** What was left out of a text. For `truncate`, kept and omitted characters add up to the original length. */
export interface Cut {
  /** The beginning stays, both ends stay, or lines chosen from all of the text; `size`: it was read for its size only. */
  readonly method: "head" | "head-tail" | "lines" | "size";
  readonly originalChars: number;
  readonly omittedChars: number;
  readonly limitChars: number;
}

/** The share of what is kept that comes from the head. */
export const FORK_HEAD_RATIO = 0.8;
/** The share of what is kept that comes from the tail. */
export const FORK_TAIL_RATIO = 0.2;

/** The line that stands where characters were left out. */
export function truncationMarker(omittedChars: number, method: "head" | "head-tail"): string {
  const marker = `\n...[truncated ${omittedChars} chars]...`;
  return method === "head" ? marker : `${marker}\n`;
}

/** How many lines a text has; a line break at its end adds none. */
export function countLines(text: string): number {
  let count = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** The largest cut at or left of `end` that splits neither a surrogate pair nor a CRLF. */
export function headCut(text: string, end: number): number {
  return splitsPair(text, end) ? end - 1 : end;
}

/** The smallest cut at or right of `start` that splits neither a surrogate pair nor a CRLF. */
export function tailCut(text: string, start: number): number {
  return splitsPair(text, start) ? start + 1 : start;
}

/** A real copy: JavaScript engines keep the whole string alive while a slice of it is in use. */
export function copyOf(text: string): string {
  return DECODER.decode(ENCODER.encode(text));
}

const ENCODER = /* @__PURE__ */ new TextEncoder();
const DECODER = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });

function splitsPair(text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1);
  const after = text.charCodeAt(index);
  const isSurrogatePair = (before & 0xfc00) === 0xd800 && (after & 0xfc00) === 0xdc00;
  const isCrLf = before === 0x0d && after === 0x0a;
  return isSurrogatePair || isCrLf;
}

function splitLimit(
  limitChars: number,
  { method, headRatio = FORK_HEAD_RATIO, tailRatio = FORK_TAIL_RATIO }: TruncateOptions,
): { headChars: number; tailChars: number } {
  if (method === "head") return { headChars: limitChars, tailChars: 0 };
  const headChars = Math.floor(limitChars * headRatio);
  const ratiosFillTheLimit = Math.abs(headRatio + tailRatio - 1) < 1e-9;
  const tailChars = ratiosFillTheLimit ? limitChars - headChars : Math.floor(limitChars * tailRatio);
  return tailChars === 0 ? { headChars: limitChars, tailChars: 0 } : { headChars, tailChars };
}

function checkLimit(limitChars: number): number {
  if (typeof limitChars !== "number" || Number.isNaN(limitChars))
    throw new ConfigurationError([
      `limitChars is ${show(limitChars)}; give a number of characters, or Infinity`,
    ]);
  return Math.max(0, Math.floor(limitChars));
}

/**
 * The length to which the longer of some texts have to come down so that all of them fit: shorter ones keep theirs
 * and leave what they do not use to the others. Infinity when all fit as they are.
 */
export function commonLimit(lengths: readonly number[], room: number): number {
  let left = room;
  for (const [index, length] of lengths.toSorted((one, other) => one - other).entries()) {
    const share = left / (lengths.length - index);
    if (length > share) return share;
    left -= length;
  }
  return left < 0 ? 0 : Number.POSITIVE_INFINITY;
}

/** True when the end of an output matters as much as its beginning: for terminal tools and texts that mention an error anywhere. */
export function shouldUseHeadTail(toolName: string, resultText: string): boolean {
  const name = toolName.toLowerCase();
  return (
    FORK_HEAD_TAIL_KEYWORDS.some((keyword) => name.includes(keyword)) || anyErrorPattern.test(resultText)
  );
}

/** Outputs of tools with one of these in their name keep both ends. */
export const FORK_HEAD_TAIL_KEYWORDS: readonly string[] = ["bash", "pty", "exec"];

/** A text with one of these keeps both ends when it is cut. */
export const FORK_ERROR_PATTERNS: readonly string[] = [
  "error",
  "Error",
  "ERROR",
  "failed",
  "FAILED",
  "exception",
  "traceback",
];

/** Forms that the documented patterns miss: a Python traceback, "Exception in thread", "Failed to", a panic. */
export const FORK_MORE_ERROR_PATTERNS: readonly string[] = [
  "fail",
  "FAIL",
  "stack",
  "Failed",
  "Exception",
  "Traceback",
  "panic:",
  "fatal:",
  "FATAL",
];

/** Words without a choice of length: every position is looked at once, however long the text is. */
const anyErrorPattern = new RegExp([...FORK_ERROR_PATTERNS, ...FORK_MORE_ERROR_PATTERNS].join("|"));

/** Keeps `limit` characters of a text: its beginning, or with `useHeadTail` 80 % of them from the beginning and 20 % from the end. */
export function truncateWithStrategy(text: string, limit: number, useHeadTail: boolean): string {
  return truncate(text, { limitChars: limit, method: useHeadTail ? "head-tail" : "head" }).text;
}

/** A text on one line: every run of whitespace becomes one space, none at the ends. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** A text on one line of at most `maxChars`. What lies far behind the limit is not read, so a huge text costs little. */
export function clipLine(text: string, maxChars: number): string {
  return clip(oneLine(text.slice(0, maxChars * 4 + 64)), maxChars);
}

/** At most `maxChars` from the head of a text, the last three of them dots when something is left out. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars <= ELLIPSIS.length) return "";
  return text.slice(0, headCut(text, maxChars - ELLIPSIS.length)) + ELLIPSIS;
}

export const ELLIPSIS = "...";

/**
 * A value of the same shape whose JSON has at most `limitChars`: the longest strings are cut, all to one length.
 * Where shape alone is too long, or there is no JSON, an empty object.
 */
export function clipJson(value: unknown, limitChars: number): unknown {
  const json = tryJson(value);
  if (json === undefined) return {};
  if (json.length <= limitChars) return value;

  let maxStringChars = firstGuess(value, limitChars);
  for (;;) {
    const clipped = mapStrings(value, (text) => clip(text, maxStringChars));
    if (safeJson(clipped).length <= limitChars) return clipped;
    if (maxStringChars === 0) return {};
    // Escapes take more room than was guessed.
    maxStringChars = Math.floor(maxStringChars * 0.8);
  }
}

/** The length to which strings must be cut if no character needs an escape. */
function firstGuess(value: unknown, limitChars: number): number {
  const lengths: number[] = [];
  const shape = mapStrings(value, (text) => {
    lengths.push(text.length);
    return "";
  });
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  return Math.min(
    longest,
    Math.max(0, Math.floor(commonLimit(lengths, limitChars - safeJson(shape).length))),
  );
}

/** A number with separators for thousands. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** Dollars for people: cents, or more digits where there would be none. */
export function formatUSD(costUSD: number): string {
  const digits = costUSD === 0 || costUSD >= 0.1 ? 2 : 4;
  return `$${costUSD.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** A count with its noun: `1 line`, `2 lines`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A number of bytes as people read it. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/** What a thrown value says; never throws itself. */
export function errorMessage(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "threw something that cannot be read";
  }
}
