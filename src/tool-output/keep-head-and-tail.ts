import { EMOJI_STYLE, KEYCAP, TEXT_STYLE, ZERO_WIDTH_JOINER } from "../text/normalize.ts";
import { headCut, tailCut } from "../text/truncate.ts";
import type { ToolOutputLimits, TruncateMode } from "./limits.ts";
import { addSizes, type TextSize, textSize } from "./text-size.ts";

/**
 * Decides which lines of a long output stay: the first and the last ones (or only the first), as many as all three
 * limits allow. Lines are counted first, then code points, then bytes. The text must be well-formed.
 */
export function keepHeadAndTail(text: string, { size, limits }: CutRequest): TextCut {
  const whole: TextCut = { headEnd: text.length, tailStart: text.length, by: "none" };
  const byLines = cutLines(text, { cut: whole, size, limits });
  const isHeadOnly = limits.truncateMode === "head" || byLines.tailStart === text.length;
  const mode = byLines.by === "lines" && isHeadOnly ? "head" : limits.truncateMode;
  const byChars = cutUnits(text, { cut: byLines, size, mode, unit: "chars", limit: limits.maxChars });
  return cutUnits(text, { cut: byChars, size, mode, unit: "bytes", limit: limits.maxBytes });
}

/** Which parts of a text stay: everything before `headEnd` and everything from `tailStart` on. */
export interface TextCut {
  readonly headEnd: number;
  readonly tailStart: number;
  /** The last limit that removed something; `none` keeps the whole text. */
  readonly by: CutBy;
}

/** The limit that decided how much stays. */
export type CutBy = "lines" | "chars" | "bytes" | "none";

interface CutRequest {
  readonly size: TextSize;
  readonly limits: ToolOutputLimits;
}

/** The size of what stays; a line of which both ends stay counts once. */
export function shownSize(text: string, { headEnd, tailStart }: TextCut): TextSize {
  const shown = addSizes(textSize(text.slice(0, headEnd)), textSize(text.slice(tailStart)));
  const isWithinOneLine =
    tailStart < text.length && isInsideLine(text, headEnd) && !text.slice(headEnd, tailStart).includes("\n");
  return isWithinOneLine ? { ...shown, lines: shown.lines - 1 } : shown;
}

/** Below this a limit is too small to be shared between the two ends. */
const MIN_SHARED_LIMIT = 4;

function shareOfHead(limit: number, mode: TruncateMode): number {
  return mode === "head" || limit < MIN_SHARED_LIMIT ? limit : Math.floor(limit / 2);
}

function cutLines(text: string, { cut, size, limits }: CutRequest & { readonly cut: TextCut }): TextCut {
  const { maxLines, truncateMode } = limits;
  if (maxLines === 0 || size.lines <= maxLines) return cut;
  const headLines = shareOfHead(maxLines, truncateMode);
  return {
    headEnd: endOfFirstLines(text, headLines),
    tailStart: startOfLastLines(text, maxLines - headLines),
    by: "lines",
  };
}

function endOfFirstLines(text: string, lines: number): number {
  let end = 0;
  for (let line = 0; line < lines; line++) end = text.indexOf("\n", end) + 1;
  return end;
}

function startOfLastLines(text: string, lines: number): number {
  if (lines === 0) return text.length;
  let start = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let line = 0; line < lines; line++) start = text.lastIndexOf("\n", start - 1);
  return start + 1;
}

type Unit = "chars" | "bytes";

interface UnitCutRequest {
  readonly cut: TextCut;
  readonly size: TextSize;
  readonly mode: TruncateMode;
  readonly unit: Unit;
  readonly limit: number;
}

function cutUnits(text: string, { cut, size, mode, unit, limit }: UnitCutRequest): TextCut {
  const keptUnits = cut.by === "none" ? size[unit] : shownSize(text, cut)[unit];
  if (limit === 0 || keptUnits <= limit) return cut;

  const headBudget = shareOfHead(limit, mode);
  const first = walk(text, { unit, budget: headBudget, from: "start", end: cut.headEnd });
  const tailBudget = headBudget === limit ? 0 : limit - first.used;
  const tailEnd = cut.by === "none" ? 0 : cut.tailStart;
  const tail = walk(text, { unit, budget: tailBudget, from: "end", end: tailEnd });
  // Room that one end does not use goes to the other.
  const head = walk(text, { unit, budget: limit - tail.used, from: "start", end: cut.headEnd });
  return {
    headEnd: avoidSplitEmojiAtEnd(text, wholeLinesBefore(text, head.index)),
    tailStart: avoidSplitEmojiAtStart(text, wholeLinesFrom(text, tail.index)),
    by: unit,
  };
}

// Keep whole lines: half a line can read as another value, "4918" for "14918".
function wholeLinesBefore(text: string, end: number): number {
  const lineStart = text.lastIndexOf("\n", end - 1) + 1;
  return isInsideLine(text, end) ? end - unitsToDrop(end - lineStart, end) : end;
}

function wholeLinesFrom(text: string, start: number): number {
  const nextLine = text.indexOf("\n", start - 1) + 1 || Number.POSITIVE_INFINITY;
  return start + unitsToDrop(nextLine - start, text.length - start);
}

/**
 * How many units to drop at a cut inside a line: the whole partial line, or, if it is long, only as much as the mark
 * `…` takes.
 */
function unitsToDrop(ofLine: number, units: number): number {
  return ofLine <= Math.min(MAX_DROPPED_UNITS, units / 2) ? ofLine : Math.min(3, units >> 4);
}

const MAX_DROPPED_UNITS = 1_000;

/** True where a cut leaves a part of a line. */
export function isInsideLine(text: string, index: number): boolean {
  return (
    index > 0 &&
    index < text.length &&
    text[index - 1] !== "\n" &&
    !/^\r?\n/.test(text.slice(index, index + 2))
  );
}

interface Walk {
  readonly unit: Unit;
  readonly budget: number;
  readonly from: "start" | "end";
  /** The end of the range that may be kept. */
  readonly end: number;
}

interface Walked {
  readonly index: number;
  readonly used: number;
}

function walk(text: string, { unit, budget, from, end }: Walk): Walked {
  const isBack = from === "end";
  let index = isBack ? text.length : 0;
  let used = 0;
  while (isBack ? index > end : index < end) {
    let at = isBack ? index - 1 : index;
    if (isBack && (text.charCodeAt(at) & 0xfc00) === 0xdc00) at -= 1;
    const codePoint = text.codePointAt(at) ?? 0;
    const cost = unit === "chars" ? 1 : utf8Length(codePoint);
    if (used + cost > budget) break;
    used += cost;
    index = isBack ? at : at + (codePoint > 0xffff ? 2 : 1);
  }
  return { index, used };
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

// A cut inside an emoji must not leave an invisible character behind.
function avoidSplitEmojiAtEnd(text: string, index: number): number {
  let end = headCut(text, index);
  while (text[end - 1] === ZERO_WIDTH_JOINER || (text[end - 1] === EMOJI_STYLE && text[end] === KEYCAP)) {
    end -= 1;
  }
  return end;
}

function avoidSplitEmojiAtStart(text: string, index: number): number {
  let start = tailCut(text, index);
  while (text[start] === ZERO_WIDTH_JOINER || text[start] === TEXT_STYLE || text[start] === EMOJI_STYLE) {
    start += 1;
  }
  return start;
}
