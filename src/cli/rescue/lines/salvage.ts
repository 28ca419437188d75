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
