import type { FillPart, FillRows, FillSegment } from "./rows.ts";

/**
 * Requires, within a room, what was read and written of the files that a directive names, then lines with its
 * identifiers, newest first; what does not fit is preferred. Gives the characters that are required.
 */
export function requireDirected(fill: FillRows, worth: Float64Array, room: DirectedRoom): number {
  const isNamed = createNameMatcher(room.directive);
  const words = tellingWords(room.directive);
  let leftChars = room.roomChars;
  const require = (part: FillPart, rows: readonly number[]): void => {
    const chars = part.headChars + rows.reduce((sum, row) => sum + (fill.rows.chars[row] ?? 0), 0);
    const fits = rows.length > 0 && chars <= leftChars;
    if (fits) leftChars -= chars;
    for (const row of rows) worth[row] = fits ? Number.POSITIVE_INFINITY : (worth[row] ?? 0) * NAMED_FACTOR;
  };
  const parts = fill.parts.slice(0, room.firstWholePart).reverse();
  const isFile = ({ path }: FillPart): boolean => path !== undefined && isNamed(path);
  for (const part of parts) if (isFile(part)) require(part, fileRows(fill, part));
  for (const part of parts)
    if (words.length > 0 && !isFile(part)) require(part, rowsAround(fill, part, words));
  return room.roomChars - leftChars;
}

interface DirectedRoom {
  readonly directive: string;
  readonly firstWholePart: number;
  readonly roomChars: number;
}

/** More than age takes from a line in a hundred results, or than the newest results get. */
const NAMED_FACTOR: number = Math.exp(8);

/** The rows of a part with one of the words, and those around them. */
function rowsAround(fill: FillRows, part: FillPart, words: readonly string[]): readonly number[] {
  const around = new Set<number>();
  for (const segment of fill.segments.slice(part.firstSegment, part.endSegment)) {
    if (segment.source === "call") continue;
    for (const row of words.flatMap((word) => rowsWith(fill, segment, word)))
      for (let near = row - ROWS_AROUND; near <= row + ROWS_AROUND; near++)
        if (near >= segment.firstRow && near < segment.endRow) around.add(near);
  }
  return [...around];
}

/** The words of a directive that no sentence has: `readRows`, `max_chars`, `E404`. */
function tellingWords(directive: string): readonly string[] {
  return [...new Set(directive.match(IDENTIFIER) ?? [])]
    .filter((word) => /[\p{Ll}\d]\p{Lu}|[_$\d]/u.test(word))
    .slice(0, MAX_WORDS);
}

const IDENTIFIER = /[\p{L}_$][\p{L}\p{N}_$]{3,}/gu;
const MAX_WORDS = 32;
/** A line is read with those around it. */
const ROWS_AROUND = 2;

/** The rows of a text that hold a word, in order. */
function rowsWith(
  { rows }: FillRows,
  { text, firstRow, endRow }: FillSegment,
  word: string,
): readonly number[] {
  const found: number[] = [];
  let row = firstRow;
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + word.length)) {
    if (IN_WORD.test(text[at - 1] ?? " ") || IN_WORD.test(text[at + word.length] ?? " ")) continue;
    while (row < endRow && (rows.end[row] ?? 0) <= at) row++;
    if (row < endRow && (rows.start[row] ?? 0) <= at) found.push(row);
  }
  return found;
}

const IN_WORD = /[\p{L}\p{N}_$]/u;

function fileRows({ segments }: FillRows, { firstSegment, endSegment }: FillPart): readonly number[] {
  return segments
    .slice(firstSegment, endSegment)
    .filter(({ source }: FillSegment) => source === "read" || source === "change")
    .flatMap(({ firstRow, endRow }) => Array.from({ length: endRow - firstRow }, (_, row) => firstRow + row));
}

/** Lines of files that agent or user name, such as `engine.ts:49` or "engine.ts (lines 60-75)", by the file's own name. */
export function readLineReferences({ segments }: FillRows): LineReferences {
  const references = new Map<string, LineRange[]>();
  for (const { source, text } of segments) {
    if (source !== "user" && source !== "agent" && source !== "input") continue;
    let file: string | undefined;
    let from = 0;
    for (const { 0: found, 1: first, 2: last = first, index } of text.matchAll(LINE_REFERENCE)) {
      const end = index + found.length;
      file = text.slice(from, end).match(FILE_NAME)?.at(-1) ?? file;
      from = end;
      if (file === undefined) continue;
      const range = [Number(first) - LINES_AROUND, Number(last) + LINES_AROUND] as const;
      references.set(file, [...(references.get(file) ?? []), range]);
    }
  }
  return references;
}

/** First and last line of each range, by the name of the file. */
type LineReferences = ReadonlyMap<string, readonly LineRange[]>;
type LineRange = readonly [number, number];

const LINE_REFERENCE = /(?:\.\w{1,6}:|\b[Ll]ines?[ ~]{1,2}|\bL)(\d{1,6})\b(?:\s?[-–]\s?(\d{1,6}))?/g;
const FILE_NAME = /[\w+-][\w.+-]{0,99}\.[A-Za-z]\w{0,5}\b/g;
/** What is changed stands at a line or close to it. */
const LINES_AROUND = 3;

/** True for a path that a text names, whole or by its end: `src/a.ts`, `./a.ts`, `@a.ts`, `a.ts:12`. */
export function createNameMatcher(text: string): (path: string) => boolean {
  const words = text.replaceAll("\\", "/").split(NO_NAME);
  const names = new Set(
    words.filter((word) => /[./]/.test(word)).map((word) => word.replace(AROUND_NAME, "")),
  );
  return (path) => isNamedBy(names, path.replaceAll("\\", "/"));
}

const NO_NAME = /[^\p{L}\p{N}\p{M}_./+~@[\]$-]+/u;
const AROUND_NAME = /^(?:@|\.{0,2}\/|\[(?!\w+\]))+|[./-]+$/g;

function isNamedBy(names: ReadonlySet<string>, path: string): boolean {
  for (let start = 0; start !== -1 && start < path.length; ) {
    if (names.has(path.slice(start))) return true;
    const slash = path.indexOf("/", start);
    start = slash === -1 ? -1 : slash + 1;
  }
  return false;
}
