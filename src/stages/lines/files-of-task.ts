import type { FillPart, FillRows, FillSegment } from "./rows.ts";

/**
 * Marks the newest state of the files that a task names as required, as far as the room allows: texts after which the
 * file did not change, newest first, without lines that newer texts repeat. What does not fit gets a higher worth. If
 * a file was changed after it was read, the rest of that read loses worth. Gives the number of required characters.
 */
export function requireFilesOfTask(fill: FillRows, worth: Float64Array, room: DirectedRoom): number {
  const { task, isRepeated, firstWholePart, roomChars } = room;
  const isNamed = createNameMatcher(task);
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
  readonly task: string;
  /** Per row: 1 where a newer row has the same line. */
  readonly isRepeated: Uint8Array;
  readonly firstWholePart: number;
  readonly roomChars: number;
}

/** Larger than the effect of age after a hundred results, and than the bonus of the newest results. */
const NAMED_FACTOR: number = Math.exp(8);

/** How much a read loses when its file is changed. */
const OLD_FACTOR: number = Math.exp(2);

function fileRows({ segments }: FillRows, { firstSegment, endSegment }: FillPart): readonly number[] {
  return segments
    .slice(firstSegment, endSegment)
    .filter(({ source }: FillSegment) => source === "read" || source === "change")
    .flatMap(({ firstRow, endRow }) => Array.from({ length: endRow - firstRow }, (_, row) => firstRow + row));
}

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
