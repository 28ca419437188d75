import { formatBytes, plural } from "../text/format-number.ts";
import {
  EMOJI_STYLE,
  KEYCAP,
  normalizeText,
  type RemovedCounts,
  TEXT_STYLE,
  ZERO_WIDTH_JOINER,
} from "../text/normalize.ts";
import { headCut, tailCut } from "../text/truncate.ts";
import { addSizes, type TextSize, type ToolOutputLimits, type TruncateMode, textSize } from "./limits.ts";
import type { SpillFailure, SpillRef } from "./spill.ts";

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
  // What one end leaves unused, because it is short or its next character does not fit, goes to the other.
  const head = walk(text, { unit, budget: limit - tail.used, from: "start", end: cut.headEnd });
  return {
    headEnd: avoidSplitEmojiAtEnd(text, wholeLinesBefore(text, head.index)),
    tailStart: avoidSplitEmojiAtStart(text, wholeLinesFrom(text, tail.index)),
    by: unit,
  };
}

// Half a line reads as another value, "4918" for "14918": what stays are whole lines.
function wholeLinesBefore(text: string, end: number): number {
  const lineStart = text.lastIndexOf("\n", end - 1) + 1;
  return isInsideLine(text, end) ? end - unitsToDrop(end - lineStart, end) : end;
}

function wholeLinesFrom(text: string, start: number): number {
  const nextLine = text.indexOf("\n", start - 1) + 1 || Number.POSITIVE_INFINITY;
  return start + unitsToDrop(nextLine - start, text.length - start);
}

/** The broken line; of a long one as much as the mark takes that says that it is broken. */
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
  /** Where the part ends that may be kept at all. */
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

/** The lines after a cut output: how much is shown, and where the whole of it is. */
export function cutNotice({ by, stats, removed, spill, recallTool }: CutNotice): string {
  const { lines, bytes, chars } = stats;
  const shown = [
    `${lines.shown} of ${lines.total} lines`,
    `${formatBytes(bytes.shown)} of ${formatBytes(bytes.total)}`,
    `${chars.shown} of ${chars.total} chars`,
  ].join(", ");
  const title = by === "spill" ? "Output too large, preview only" : `Output truncated by ${by}`;
  const notice = [`[${title}: ${shown} shown.]`];
  const removedPieces = describeRemoved(removed);
  if (removedPieces !== "") notice.push(`[Removed before counting: ${removedPieces}.]`);
  if (spill !== undefined)
    notice.push(`[Full output kept: ${describeSpill(spill)}${readingHint(spill, recallTool)}]`);
  return notice.join("\n");
}

interface CutNotice {
  readonly by: TruncatedBy;
  readonly stats: ToolOutputStats;
  readonly removed: RemovedCounts | undefined;
  readonly spill: SpillRef | undefined;
  readonly recallTool: string | undefined;
}

/** The line in the place of an output that is not text. */
export function binaryNotice({ type, bytes, spill }: BinaryNotice): string {
  const what = `Binary output not shown: ${type}`;
  if (spill?.status === "stored")
    return `[${what}, ${describeSpill(spill)}${spill.path === undefined ? "" : " (as it was)"}]`;
  const notSaved = spill === undefined ? "" : `, not saved: ${spill.code}`;
  return `[${what}, ${formatBytes(bytes)}${notSaved}]`;
}

interface BinaryNotice {
  readonly type: string;
  readonly bytes: number;
  readonly spill: SpillRef | SpillFailure | undefined;
}

/** The line before an output that could not be kept. */
export function notSavedNotice({ code }: SpillFailure): string {
  return `[Full output not saved: ${code}]`;
}

/** The line in the place of what was left out. */
export function omissionMarker({ lines, chars }: ToolOutputStats): string {
  const omittedChars = plural(chars.omitted, "char");
  return lines.omitted === 0
    ? `[... ${omittedChars} omitted ...]`
    : `[... ${plural(lines.omitted, "line")} (${omittedChars}) omitted ...]`;
}

function describeSpill({ bytes, handle, sha256, path }: SpillRef): string {
  // Stores that name content by its hash would say the same 64 characters twice.
  const names =
    handle === sha256
      ? `handle and sha256 ${withoutLineBreaks(handle)}`
      : `handle ${withoutLineBreaks(handle)}, sha256 ${withoutLineBreaks(sha256)}`;
  const place = path === undefined ? "" : `, path ${withoutLineBreaks(path)}`;
  return `${formatBytes(bytes)}, ${names}${place}`;
}

/** How to read what is kept, as far as that is known: by which tool, and from which file. */
export function readingHint({ path }: Pick<SpillRef, "path">, recallTool: string | undefined): string {
  const tool =
    recallTool && `Read parts of it with the ${withoutLineBreaks(recallTool)} tool and this handle`;
  if (path === undefined) return tool === undefined ? "." : `. ${tool}.`;
  // A blank first: a model copies a full stop behind a path as a part of it.
  return tool === undefined ? " (Read that file in ranges.)" : ` (${tool}, or read that file in ranges.)`;
}

const MAX_VALUE_CHARS = 4_096;

/** What a store or a host says comes from outside; blanks stay, since they may be part of a path. */
function withoutLineBreaks(value: unknown): string {
  return normalizeText(String(value).slice(0, MAX_VALUE_CHARS)).replace(/[\r\n]+/g, " ");
}

const REMOVED_NAMES: Readonly<Record<keyof RemovedCounts, string>> = {
  escapeSequences: "escape sequences",
  overwrites: "overwrites",
  controls: "control characters",
  invisible: "invisible characters",
  loneSurrogates: "broken characters",
};

function describeRemoved(removed: RemovedCounts | undefined): string {
  if (removed === undefined) return "";
  const kinds = Object.entries(REMOVED_NAMES) as [keyof RemovedCounts, string][];
  return kinds
    .filter(([kind]) => removed[kind] > 0)
    .map(([kind, name]) => `${name} ${removed[kind]}`)
    .join(", ");
}
