import { GAP_MARKER } from "../../../stages/fill/select-rows.ts";
import type { TextRange } from "./types.ts";

/**
 * What of one text is not in another that was made from it by leaving out, and what the other has of its own, such as
 * markers. Runs are looked for in their order; linear but for runs that are not there, of which only some are looked for.
 */
export function textCuts(before: string, after: string): TextCuts {
  const headChars = commonHead(before, after);
  const tailChars = commonTail(before, after, headChars);
  const kept: TextRange[] = [{ start: 0, end: headChars }];
  const matched: TextRange[] = [{ start: 0, end: headChars }];
  const beforeEnd = before.length - tailChars;
  let cursor = headChars;
  let misses = 0;
  for (const run of runsOf(after, headChars, after.length - tailChars)) {
    if (misses >= MAX_MISSES) break;
    const found = before.indexOf(after.slice(run.start, run.end), cursor);
    if (found === -1 || found + (run.end - run.start) > beforeEnd) {
      misses++;
      continue;
    }
    cursor = found + (run.end - run.start);
    kept.push({ start: found, end: cursor });
    matched.push(run);
  }
  kept.push({ start: beforeEnd, end: before.length });
  matched.push({ start: after.length - tailChars, end: after.length });
  return { cuts: gapsBetween(kept), added: gapsBetween(matched) };
}

export interface TextCuts {
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

/** Stretches between gaps, as far as a blank line, since blank lines may have been thinned out. In JSON line breaks are escaped. */
function runsOf(after: string, start: number, end: number): readonly TextRange[] {
  const runs: TextRange[] = [];
  let from = start;
  SEPARATOR.lastIndex = start;
  for (let match = SEPARATOR.exec(after); match !== null; match = SEPARATOR.exec(after)) {
    if (match.index >= end) break;
    if (match.index > from) runs.push({ start: from, end: match.index });
    from = Math.min(end, SEPARATOR.lastIndex);
  }
  if (from < end) runs.push({ start: from, end });
  return runs;
}

const GAP = GAP_MARKER.replace(/[[\].]/g, "\\$&");
const SEPARATOR: RegExp = new RegExp(`(?:\\n|\\\\n)?${GAP}(?:\\n|\\\\n)?|\\n{2,}`, "g");

/** The places between ranges that are in order. */
function gapsBetween(ranges: readonly TextRange[]): readonly TextRange[] {
  const gaps: TextRange[] = [];
  let end = 0;
  for (const range of ranges) {
    if (range.start > end) gaps.push({ start: end, end: range.start });
    end = Math.max(end, range.end);
  }
  return gaps;
}
