import type { FillSource } from "./read-call.ts";
import type { FillPart, FillRows, FillSegment } from "./rows.ts";
import { nameStart } from "./words.ts";

/**
 * Requires, within a room, what is newest of the files that a directive names: the texts that no change followed, newest
 * first, without lines that stand in newer ones. What does not fit is preferred, and of files that were changed since
 * they were read the rest counts as if they had not been. Gives the characters that are required.
 */
export function requireDirected(fill: FillRows, worth: Float64Array, room: DirectedRoom): number {
  const { directive, isRepeated, firstWholePart, roomChars } = room;
  const isNamed = createNameMatcher(directive);
  const changed = new Set<string>();
  let leftChars = roomChars;
  for (const [number, part] of [...fill.parts.entries()].reverse()) {
    const { path, call, headChars } = part;
    if (path === undefined) continue;
    if (number < firstWholePart && isNamed(path)) {
      const rows = fileRows(fill, part).filter((row) => isRepeated[row] === 0);
      const chars = rows.reduce((sum, row) => sum + (fill.rows.chars[row] ?? 0), headChars);
      const isOld = changed.has(path) && !call?.hasChanged;
      const fits = !isOld && rows.length > 0 && chars <= leftChars;
      if (fits) leftChars -= chars;
      const factor = isOld ? OLD_FACTOR : NAMED_FACTOR;
      for (const row of rows) worth[row] = fits ? Number.POSITIVE_INFINITY : (worth[row] ?? 0) * factor;
    }
    if (call?.hasChanged) changed.add(path);
  }
  return roomChars - leftChars;
}

interface DirectedRoom {
  readonly directive: string;
  /** Per row: 1 where a newer row has the same line. */
  readonly isRepeated: Uint8Array;
  readonly firstWholePart: number;
  readonly roomChars: number;
}

/** More than age takes from a line in a hundred results, or than the newest results get. */
const NAMED_FACTOR: number = Math.exp(8);
/** What a read loses when its file is changed. */
const OLD_FACTOR: number = Math.exp(2);

function fileRows({ segments }: FillRows, { firstSegment, endSegment }: FillPart): readonly number[] {
  return segments
    .slice(firstSegment, endSegment)
    .filter(({ source }: FillSegment) => source === "read" || source === "change")
    .flatMap(({ firstRow, endRow }) => Array.from({ length: endRow - firstRow }, (_, row) => firstRow + row));
}

/**
 * Lines of files that are named by number, by the file's own name: by agent or user, as in `engine.ts:49` or "engine.ts
 * (lines 60-75)", and by what tools printed, as compilers, failed tests, reviews and searches do.
 */
export function readLineReferences({ segments }: FillRows): LineReferences {
  const references = new Map<string, Set<number>>();
  for (const { source, text } of segments) {
    if (FILE_SOURCES.has(source)) continue;
    let file: string | undefined;
    let from = 0;
    for (const { 0: found, 1: ending, 2: first, 3: last = first, index } of text
      .slice(0, MAX_CHARS)
      .matchAll(LINE_REFERENCE)) {
      const end = index + found.length;
      // The name stands right before the number, or somewhere before it.
      if (ending !== undefined) file = text.slice(nameStart(text, index), index) + ending;
      else
        file =
          text
            .slice(Math.max(from, index - MAX_NAME_CHARS), index)
            .match(FILE_NAME)
            ?.at(-1) ?? file;
      from = end;
      if (file === undefined) continue;
      const lines = references.get(file) ?? new Set();
      references.set(file, lines);
      const lastLine = Math.min(Number(last), Number(first) + MAX_LINES) + LINES_AROUND;
      for (let line = Math.max(1, Number(first) - LINES_AROUND); line <= lastLine; line++) lines.add(line);
    }
  }
  return references;
}

/** By the name of the file. */
type LineReferences = ReadonlyMap<string, ReadonlySet<number>>;

const FILE_SOURCES: ReadonlySet<FillSource> = new Set(["read", "change", "removed", "call"]);
/** What stands further back in a text is not read. */
const MAX_CHARS = 20_000;
const LINE_REFERENCE =
  /(?:(\.[A-Za-z]\w{0,5})[:(]|\b[Ll]ines?[ ~]{1,2}|\bL)(\d{1,6})\b(?:\s?[-–]\s?(\d{1,6}))?/g;
const FILE_NAME = /(?<![\w+-])[\w+-][\w.+-]{0,99}\.[A-Za-z]\w{0,5}\b/g;
/** How far before a number the name of its file is looked for. */
const MAX_NAME_CHARS = 200;
/** What is changed stands at a line or close to it. */
const LINES_AROUND = 3;
/** A longer range names its beginning. */
const MAX_LINES = 200;

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
