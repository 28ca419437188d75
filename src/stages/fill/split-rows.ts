import { headCut } from "../../text/truncate.ts";
import type { RowDraft } from "./row-table.ts";

/** Adds the rows of a text. What is too long to be looked at in whole has its middle in one row, which never fits. */
export function splitRows(text: string, rows: RowDraft): void {
  if (text.length <= MAX_TEXT_CHARS) {
    splitLines(text, { from: 0, to: text.length, rows });
    return;
  }
  const headEnd = headCut(text, MAX_TEXT_CHARS / 2);
  const tailStart = headCut(text, text.length - MAX_TEXT_CHARS / 2);
  splitLines(text, { from: 0, to: headEnd, rows });
  rows.add({ start: headEnd, bodyStart: tailStart, end: tailStart, blankLines: 0 });
  splitLines(text, { from: tailStart, to: text.length, rows });
}

const MAX_TEXT_CHARS = 2_000_000;
const MAX_ROW_CHARS = 400;
/** How far back a cut looks for a space. */
const WORD_SEARCH_CHARS = 80;

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly rows: RowDraft;
}

function splitLines(text: string, { from, to, rows }: Stretch): void {
  let blankLines = 0;
  for (let at = from; at < to; ) {
    const lineBreak = text.indexOf("\n", at);
    const lineEnd = lineBreak === -1 || lineBreak > to ? to : lineBreak;
    const end = trimmedEnd(text, at, lineEnd);
    if (end === at) blankLines++;
    else {
      addLine(text, { from: at, to: end, rows }, blankLines);
      blankLines = 0;
    }
    at = lineEnd + 1;
  }
}

function trimmedEnd(text: string, start: number, lineEnd: number): number {
  let end = lineEnd;
  while (end > start && text.charCodeAt(end - 1) <= SPACE) end--;
  return end;
}

function addLine(text: string, { from, to, rows }: Stretch, blankLines: number): void {
  let start = from;
  let bodyStart = from;
  const digits = skipSpaces(text, from);
  const sign = skipDigits(text, digits);
  if (sign > digits && sign < to && isNumberSign(text.charCodeAt(sign))) {
    start = digits;
    bodyStart = sign + 1;
  }
  let blankLinesLeft = blankLines;
  while (to - start > MAX_ROW_CHARS) {
    const end = wordEnd(text, start + MAX_ROW_CHARS);
    rows.add({ start, bodyStart: Math.min(bodyStart, end), end, blankLines: blankLinesLeft });
    start = end;
    bodyStart = end;
    blankLinesLeft = -1;
  }
  rows.add({ start, bodyStart, end: to, blankLines: blankLinesLeft });
}

const SPACE = 32;

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === SPACE) at++;
  return at;
}

function skipDigits(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) >= 48 && text.charCodeAt(at) <= 57) at++;
  return at;
}

/** What stands between a line number and the line: an arrow, a tab, a bar, a colon. */
function isNumberSign(unit: number): boolean {
  return unit === 0x2192 || unit === 9 || unit === 124 || unit === 58;
}

function wordEnd(text: string, end: number): number {
  for (let at = end; at > end - WORD_SEARCH_CHARS; at--) if (text.charCodeAt(at - 1) === SPACE) return at;
  return headCut(text, end);
}
