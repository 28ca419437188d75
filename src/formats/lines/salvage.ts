import type { JsonLine } from "./read-json-lines.ts";

/**
 * The records that are whole in a line that is none. A program that died in the middle of one writes the next behind it,
 * and tools join lines: what was written to its end is still there.
 */
export function salvageRecords(line: string): readonly unknown[] {
  const records: unknown[] = [];
  let scannedChars = 0;
  let end = 0;
  for (const { index: start } of line.matchAll(RECORD)) {
    if (start < end) continue;
    const stop = valueEnd(line, start);
    scannedChars += (stop === -1 ? line.length : stop) - start;
    if (scannedChars > MAX_SCANNED_CHARS) break;
    const record = stop === -1 ? undefined : parsed(line.slice(start, stop));
    if (record === undefined) continue;
    records.push(record);
    end = stop;
  }
  return records;
}

/**
 * The values that follow each other in a text, however many lines each takes, as a formatter of JSON leaves them; with
 * the line in which each begins. One that is not whole ends them.
 */
export function spreadRecords(text: string): readonly JsonLine[] {
  const records: JsonLine[] = [];
  let lineNumber = 1;
  let end = 0;
  for (let start = text.indexOf("{"); start !== -1; start = text.indexOf("{", end)) {
    const stop = valueEnd(text, start);
    const value = stop === -1 ? undefined : parsed(text.slice(start, stop));
    if (value === undefined) break;
    lineNumber += lineBreaks(text.slice(end, start));
    records.push({ lineNumber, value });
    lineNumber += lineBreaks(text.slice(start, stop));
    end = stop;
  }
  return records;
}

function lineBreaks(text: string): number {
  return text.split("\n").length - 1;
}

/**
 * A text of JSON that was cut off, closed behind the last message, or part of one, that is whole; undefined for one that
 * is not cut, or in which none is.
 */
export function closeCutJson(text: string): string | undefined {
  const closing: string[] = [];
  let closed: string | undefined;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      at = stringEnd(text, at);
      if (at === -1) break;
    } else if (char === "{" || char === "[") closing.push(char === "{" ? "}" : "]");
    else if (char === "}" || char === "]") {
      closing.pop();
      if (closing.length === 0) return undefined;
      if (closing.at(-1) !== "]" || closing.length > PARTS_DEPTH) continue;
      end = at + 1;
      closed = closing.toReversed().join("");
    }
  }
  return closed === undefined ? undefined : `${text.slice(0, end)}${closed}`;
}

/** `{"messages":[{"parts":[`: lists that stand deeper belong to one part. */
const PARTS_DEPTH = 4;

/** How the records of agents begin. Inside of a text the quotation mark would have a backslash before it. */
const RECORD = /\{"(?:parentUuid|type|timestamp|uuid|sessionId|isSidechain|id|ordinal)":/g;

/** Of records that were cut every start is tried: a few megabytes must not take minutes. */
const MAX_SCANNED_CHARS = 100_000_000;

/** Where the value that begins here ends; -1 where it does not. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      at = stringEnd(text, at);
      if (at === -1) return -1;
    } else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** Where the closing quotation mark of a text stands. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return -1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
