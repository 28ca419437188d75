import { EMOJI_STYLE, KEYCAP, TEXT_STYLE, ZERO_WIDTH_JOINER } from "../text/normalize.ts";
import { headCut, tailCut } from "../text/truncate.ts";
import { addSizes, type TextSize, type ToolOutputLimits, type TruncateMode, textSize } from "./limits.ts";

/** The limit that decided how much stays. */
type CutBy = "lines" | "chars" | "bytes" | "none";

/** Which parts of a text stay: everything before `headEnd` and everything from `tailStart` on. */
export interface TextCut {
  readonly headEnd: number;
  readonly tailStart: number;
  /** The last limit that removed something; `none` keeps the whole text. */
  readonly by: CutBy;
}

/** Chooses what stays of a well-formed text so that it is within all three limits: lines first, then code points, then bytes. */
export function cutText(text: string, { size, limits }: CutRequest): TextCut {
  const whole: TextCut = { headEnd: text.length, tailStart: text.length, by: "none" };
  const byLines = cutLines(text, { cut: whole, size, limits });
  const isHeadOnly = limits.truncateMode === "head" || byLines.tailStart === text.length;
  const mode = byLines.by === "lines" && isHeadOnly ? "head" : limits.truncateMode;
  const byChars = cutUnits(text, { cut: byLines, size, mode, unit: "chars", limit: limits.maxChars });
  return cutUnits(text, { cut: byChars, size, mode, unit: "bytes", limit: limits.maxBytes });
}

interface CutRequest {
  readonly size: TextSize;
  readonly limits: ToolOutputLimits;
}

/** The size of what stays; a line of which both ends stay counts once. */
export function shownSize(text: string, { headEnd, tailStart }: TextCut): TextSize {
  const shown = addSizes(textSize(text.slice(0, headEnd)), textSize(text.slice(tailStart)));
  return isWithinOneLine(text, headEnd, tailStart) ? { ...shown, lines: shown.lines - 1 } : shown;
}

function isWithinOneLine(text: string, headEnd: number, tailStart: number): boolean {
  if (headEnd === 0 || tailStart === text.length || text[headEnd - 1] === "\n") return false;
  const lineBreak = text.indexOf("\n", headEnd);
  return lineBreak < 0 || lineBreak >= tailStart;
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
  const first = walkForward(text, { unit, budget: headBudget, end: cut.headEnd });
  const tailBudget = headBudget === limit ? 0 : limit - first.used;
  const tail = walkBackward(text, { unit, budget: tailBudget, end: cut.by === "none" ? 0 : cut.tailStart });
  // What one end leaves unused, because it is short or its next character does not fit, goes to the other.
  const head = walkForward(text, { unit, budget: limit - tail.used, end: cut.headEnd });
  return {
    headEnd: avoidSplitEmojiAtEnd(text, head.index),
    tailStart: avoidSplitEmojiAtStart(text, tail.index),
    by: unit,
  };
}

interface Walk {
  readonly unit: Unit;
  readonly budget: number;
  /** Where the part ends that may be kept at all. */
  readonly end: number;
}

interface Walked {
  readonly index: number;
  readonly used: number;
}

function walkForward(text: string, { unit, budget, end }: Walk): Walked {
  let index = 0;
  let used = 0;
  while (index < end) {
    const codePoint = text.codePointAt(index) ?? 0;
    const cost = unit === "chars" ? 1 : utf8Length(codePoint);
    if (used + cost > budget) break;
    used += cost;
    index += codePoint > 0xffff ? 2 : 1;
  }
  return { index, used };
}

function walkBackward(text: string, { unit, budget, end }: Walk): Walked {
  let index = text.length;
  let used = 0;
  while (index > end) {
    const isTrail = (text.charCodeAt(index - 1) & 0xfc00) === 0xdc00;
    const start = index - (isTrail ? 2 : 1);
    const cost = unit === "chars" ? 1 : utf8Length(text.codePointAt(start) ?? 0);
    if (used + cost > budget) break;
    used += cost;
    index = start;
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

/** The last limit that removed something, or `spill` when the whole was replaced by a preview or a notice. */
export type TruncatedBy = CutBy | "spill";

/** How much of an output is shown, after cleaning and without notices; binary content counts as bytes only. */
export interface ToolOutputStats {
  readonly lines: Tally;
  /** Code points. */
  readonly chars: Tally;
  readonly bytes: Tally;
}

/** Shown and omitted together are always the total. */
interface Tally {
  readonly shown: number;
  readonly omitted: number;
  readonly total: number;
}

/** The statistics of an output of which this much is shown. */
export function outputStats(shown: TextSize, total: TextSize): ToolOutputStats {
  const tally = (unit: keyof TextSize): Tally => ({
    shown: shown[unit],
    omitted: total[unit] - shown[unit],
    total: total[unit],
  });
  return { lines: tally("lines"), chars: tally("chars"), bytes: tally("bytes") };
}
