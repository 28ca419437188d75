import { ConfigurationError, show } from "./check.ts";

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

/** Keeps `limit` characters of a text: its beginning, or with `useHeadTail` 80 % of them from the beginning and 20 % from the end. */
export function truncateWithStrategy(text: string, limit: number, useHeadTail: boolean): string {
  return truncate(text, { limitChars: limit, method: useHeadTail ? "head-tail" : "head" }).text;
}
