import { GAP_MARKER } from "../../stages/lines/select.ts";
import type { TextRange } from "./types.ts";

/**
 * Compares a text with one that was made from it by leaving out: what is not in the second, and what the second adds,
 * such as markers. Stretches between gaps are searched in order; those that are not found are searched line by line,
 * with a limit on lines that are nowhere, so that the time stays linear.
 */
export function textCuts(before: string, after: string): TextCuts {
  const headChars = commonHead(before, after);
  const tailChars = commonTail(before, after, headChars);
  const kept: TextRange[] = [{ start: 0, end: headChars }];
  const matched: TextRange[] = [{ start: 0, end: headChars }];
  const beforeEnd = before.length - tailChars;
  const afterEnd = after.length - tailChars;
  let cursor = headChars;
  let misses = 0;

  /** Matches a stretch of the second text if the first contains it after all previous matches. */
  function take(run: TextRange, find: FindText): boolean {
    const found = find({ before, text: after.slice(run.start, run.end), from: cursor, end: beforeEnd });
    if (found === -1) return false;
    // Extends the match to the left over line breaks that both texts have.
    const room = Math.min(found - cursor, run.start - (matched.at(-1)?.end ?? 0));
    let extra = 0;
    while (extra < room && before[found - 1 - extra] === after[run.start - 1 - extra]) extra++;
    cursor = found + (run.end - run.start);
    kept.push({ start: found - extra, end: cursor });
    matched.push({ start: run.start - extra, end: run.end });
    return true;
  }

  for (const run of stretchesOf(after, { start: headChars, end: afterEnd, separator: GAP })) {
    if (take(run, findText)) continue;
    for (const line of stretchesOf(after, { ...run, separator: LINE_END })) {
      if (misses >= MAX_MISSES) break;
      if (!take(line, findLine)) misses++;
    }
  }
  kept.push({ start: beforeEnd, end: before.length });
  matched.push({ start: afterEnd, end: after.length });
  return { cuts: gapsBetween(kept), added: gapsBetween(matched) };
}

interface TextCuts {
  readonly cuts: readonly TextRange[];
  readonly added: readonly TextRange[];
}

const MAX_MISSES = 200;

function commonHead(before: string, after: string): number {
  const end = Math.min(before.length, after.length);
  let chars = 0;
  while (chars < end && before.charCodeAt(chars) === after.charCodeAt(chars)) chars++;
  return chars;
}

function commonTail(before: string, after: string, headChars: number): number {
  const end = Math.min(before.length, after.length) - headChars;
  let chars = 0;
  while (
    chars < end &&
    before.charCodeAt(before.length - 1 - chars) === after.charCodeAt(after.length - 1 - chars)
  )
    chars++;
  return chars;
}

interface Sought {
  readonly before: string;
  readonly text: string;
  readonly from: number;
  readonly end: number;
}

type FindText = (sought: Sought) => number;

function findText({ before, text, from, end }: Sought): number {
  const found = before.indexOf(text, from);
  return found === -1 || found + text.length > end ? -1 : found;
}

/** Finds a whole line, ignoring blanks at its end; a text long enough not to match by accident is found anywhere. */
function findLine({ before, text, from, end }: Sought): number {
  for (let attempt = 0, at = from; attempt < MAX_ATTEMPTS; attempt++) {
    const found = findText({ before, text, from: at, end });
    if (found === -1) break;
    if (isLineStart(before, found) && isLineEnd(before, found + text.length)) return found;
    at = found + 1;
  }
  return text.length < TELLING_CHARS ? -1 : findText({ before, text, from, end });
}

const MAX_ATTEMPTS = 50;
const TELLING_CHARS = 8;

function isLineStart(text: string, index: number): boolean {
  return index === 0 || text[index - 1] === "\n";
}

function isLineEnd(text: string, index: number): boolean {
  let end = index;
  while (text[end] === " " || text[end] === "\t" || text[end] === "\r") end++;
  return end === text.length || text[end] === "\n";
}

interface Stretches extends TextRange {
  readonly separator: RegExp;
}

function stretchesOf(text: string, { start, end, separator }: Stretches): readonly TextRange[] {
  const stretches: TextRange[] = [];
  const pattern = new RegExp(separator, "g");
  let from = start;
  pattern.lastIndex = start;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (match.index >= end) break;
    if (match.index > from) stretches.push({ start: from, end: match.index });
    from = Math.min(end, pattern.lastIndex);
  }
  if (from < end) stretches.push({ start: from, end });
  return stretches;
}

/** Blank lines may be missing in the second text, so they also end a stretch. */
const GAP: RegExp = new RegExp(`\\n?${GAP_MARKER.replace(/[[\].]/g, "\\$&")}\\n?|\\n{2,}`);
const LINE_END: RegExp = /\n/;

/** The gaps between ordered ranges. */
function gapsBetween(ranges: readonly TextRange[]): readonly TextRange[] {
  const gaps: TextRange[] = [];
  let end = 0;
  for (const range of ranges) {
    if (range.start > end) gaps.push({ start: end, end: range.start });
    end = Math.max(end, range.end);
  }
  return gaps;
}
