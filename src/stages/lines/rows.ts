import { headCut } from "../../text/truncate.ts";
import { filePlaceholder, toolResults } from "../../transcript/content.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { type FillCall, type FillSource, readCall } from "./read-call.ts";

/** A transcript split into rows: messages hold parts, parts hold segments, segments hold rows. */
export interface FillRows {
  readonly messages: readonly Message[];
  /** Oldest first, as are segments and rows. */
  readonly parts: readonly FillPart[];
  readonly segments: readonly FillSegment[];
  readonly rows: RowTable;
}

/** A part of a message and its segments. */
export interface FillPart {
  readonly message: Message;
  readonly messageNumber: number;
  readonly partIndex: number;
  readonly part: Part;
  /** The number of newer results. */
  readonly callsSince: number;
  /** The file that the call is about. */
  readonly path: string | undefined;
  readonly call: FillCall | undefined;
  readonly headChars: number;
  /** Its rendered length. */
  readonly chars: number;
  readonly firstSegment: number;
  readonly endSegment: number;
}

/** One text of a part: a message's own, the head of a call, a long string of its input, its output. */
export interface FillSegment {
  readonly source: FillSource;
  readonly text: string;
  readonly partNumber: number;
  readonly firstRow: number;
  readonly endRow: number;
}

/** Reads the visible part of a transcript into rows. */
export function readRows(transcript: Transcript): FillRows {
  const messages = transcript.filter(isVisibleToModel);
  const parts: FillPart[] = [];
  const segments: FillSegment[] = [];
  const rows = createRowCollector();
  let callsSince = toolResults(messages).length;
  for (const [messageNumber, message] of messages.entries()) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.agentVisible === false) continue;
      const call = part.type === "tool" ? readCall(part) : undefined;
      if (part.type === "tool" && part.outcome.status !== "pending") callsSince--;
      const firstSegment = segments.length;
      for (const { source, text } of call?.texts ?? ownTexts(part, message)) {
        const firstRow = rows.count();
        splitRows(text, rows);
        if (source === "call" && rows.count() > firstRow + 1) rows.truncate(firstRow + 1);
        if (rows.count() === firstRow) continue;
        segments.push({ source, text, partNumber: parts.length, firstRow, endRow: rows.count() });
      }
      if (segments.length === firstSegment) continue;
      const { path, headChars } = call ?? { path: undefined, headChars: 0 };
      const chars = call?.chars ?? (part.type === "text" ? part.text.length : 0);
      const endSegment = segments.length;
      parts.push({
        message,
        messageNumber,
        partIndex,
        part,
        callsSince,
        path,
        call,
        headChars,
        chars,
        firstSegment,
        endSegment,
      });
    }
  }
  return { messages, parts, segments, rows: rows.table() };
}

/** A longer user text was pasted or generated, not typed. */
const MAX_SAID_CHARS = 8_000;

function ownTexts(part: Part, { role }: Message): FillCall["texts"] {
  const source = role === "assistant" ? "agent" : "user";
  if (part.type === "file") return [{ source, text: filePlaceholder(part) }];
  if (part.type !== "text" || part.ignored || part.own) return [];
  const isPasted = source === "user" && part.text.length > MAX_SAID_CHARS;
  return [{ source: isPasted ? "output" : source, text: part.text }];
}

/** Adds the rows of a text. The middle of a text that is too long to be split becomes one row, which never fits. */
export function splitRows(text: string, rows: RowCollector): void {
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
/** How far back a split looks for a space. */
const WORD_SEARCH_CHARS = 80;

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly rows: RowCollector;
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

/** A separator between a line number and the line: an arrow, a tab, a bar, a colon. */
function isNumberSign(unit: number): boolean {
  return unit === 0x2192 || unit === 9 || unit === 124 || unit === 58;
}

function wordEnd(text: string, end: number): number {
  for (let at = end; at > end - WORD_SEARCH_CHARS; at--) if (text.charCodeAt(at - 1) === SPACE) return at;
  return headCut(text, end);
}

/**
 * The rows of a transcript, oldest first, as columns. A row is a line that is not blank, or a piece of a very long
 * one: the smallest unit that is kept or left out.
 */
export interface RowTable {
  readonly count: number;
  /** Where each row begins in its text: after the padding of a line number. */
  readonly start: readonly number[];
  /** After the line number itself. */
  readonly bodyStart: readonly number[];
  readonly end: readonly number[];
  /** Blank lines before it; -1 where it continues the line of the row before. */
  readonly blankLines: readonly number[];
  /** The length of each row with its line breaks. */
  readonly chars: readonly number[];
}

/** One row of a table. */
type FillRow = Readonly<Record<"start" | "bodyStart" | "end" | "blankLines", number>>;

/** Collects rows into a table. */
interface RowCollector {
  add(row: FillRow): void;
  count(): number;
  /** Drops all rows from this number on. */
  truncate(count: number): void;
  table(): RowTable;
}

/** A collector without rows. */
export function createRowCollector(): RowCollector {
  const table = {
    start: [] as number[],
    bodyStart: [] as number[],
    end: [] as number[],
    blankLines: [] as number[],
    chars: [] as number[],
  };
  return {
    add({ start, bodyStart, end, blankLines }) {
      table.start.push(start);
      table.bodyStart.push(bodyStart);
      table.end.push(end);
      table.blankLines.push(blankLines);
      table.chars.push(end - start + 1 + Math.max(0, blankLines));
    },
    count: () => table.start.length,
    truncate(count) {
      for (const column of Object.values(table)) column.length = count;
    },
    table: () => ({ count: table.start.length, ...table }),
  };
}

/**
 * The length of a text from its rows. For a file that was read, without the padding of line numbers when that saves
 * enough.
 */
export function wholeChars({ chars }: RowTable, { source, text, firstRow, endRow }: FillSegment): number {
  if (source !== "read") return text.length + 1;
  let rowChars = 0;
  for (let row = firstRow; row < endRow; row++) rowChars += chars[row] ?? 0;
  return rowChars < text.length * (1 - PADDING_SHARE) ? rowChars : text.length + 1;
}

/** Padding of line numbers is only removed when it takes a larger share. */
const PADDING_SHARE = 0.03;
