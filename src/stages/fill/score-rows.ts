import { enclosingNames } from "./enclosing-names.ts";
import type { FillRows, FillSegment } from "./fill-rows.ts";
import { FILL_SHARES, FILL_WEIGHTS } from "./fill-weights.ts";
import type { NumberedWords } from "./number-words.ts";
import { type RowFacts, readNewestFirst } from "./read-newest-first.ts";
import { wordUse } from "./word-use.ts";

/** What each row is worth. */
export interface RowScores {
  /** Value a character; higher stays longer. No two rows that matter are equal. */
  readonly density: Float64Array;
  /** 1 where a newer row shows the same line. */
  readonly isRepeated: Uint8Array;
}

/** Scores rows by how likely the agent needs them next: by source, age, names found nowhere newer, and what is being worked on. */
export function scoreRows(fill: FillRows, numbered: NumberedWords): RowScores {
  const facts = readNewestFirst(fill, numbered, wordUse(fill, numbered));
  const { rows, segments } = fill;
  const lineValue = valueLines(fill, numbered, facts);
  const density = new Float64Array(rows.count);
  const nameValue = (row: number): number => (lineValue[row] ?? 0) * (facts.newNames[row] ?? 0);
  const costChars = (row: number): number => (rows.end[row] ?? 0) - (rows.start[row] ?? 0) + GAP_SHARE_CHARS;
  for (const { firstRow, endRow } of segments) {
    for (let row = firstRow; row < endRow; row++) {
      const cost = costChars(row);
      // A name is of use only between its neighbours; a short one must not come without the line that it belongs to.
      let names = nameValue(row) / cost;
      if (row > firstRow) names = Math.max(names, inherited(nameValue(row - 1), cost, costChars(row - 1)));
      if (row < endRow - 1) names = Math.max(names, inherited(nameValue(row + 1), cost, costChars(row + 1)));
      const tieBreak = 1 + (TIE_SHARE * row) / rows.count;
      density[row] = ((lineValue[row] ?? 0) / cost + names) * tieBreak;
    }
  }
  return { density, isRepeated: facts.isRepeated };
}

function inherited(nameValue: number, ownCost: number, itsCost: number): number {
  return nameValue === 0 ? 0 : (FILL_SHARES.neighbour * nameValue) / Math.max(ownCost, itsCost);
}

/** By how much the newest of equal rows is preferred: enough for a threshold to fall between them. */
const TIE_SHARE = 0.01;
/** A row alone costs a line break and part of a gap marker beside its text. */
const GAP_SHARE_CHARS = 6;
/** A line that is shown again later, or has no word in it, comes behind everything else. */
const LEFTOVER_FACTOR = 1e-4;
const AGE_OFFSET = 3;

/** What each line itself is worth, which an edit may have to repeat. */
function valueLines(fill: FillRows, numbered: NumberedWords, facts: RowFacts): Float64Array {
  const { rows, segments } = fill;
  const { activity, isRepeated } = facts;
  const names = enclosingNames(fill, numbered, facts);
  const touches = countTouches(fill);
  const value = new Float64Array(rows.count);
  for (const segment of segments) {
    const base = segmentWeight(segment, fill, touches);
    for (let row = segment.firstRow; row < segment.endRow; row++) {
      const active = activity[row] ?? 0;
      const weight =
        base +
        FILL_WEIGHTS.activity * active +
        FILL_WEIGHTS.activitySquared * active * active +
        FILL_WEIGHTS.enclosingNames * (names[row] ?? 0) +
        FILL_WEIGHTS.lineChars * logOf((rows.end[row] ?? 0) - (rows.start[row] ?? 0));
      const isLeftover = isRepeated[row] === 1 || numbered.firstWord[row] === numbered.firstWord[row + 1];
      value[row] = Math.exp(weight) * (isLeftover ? LEFTOVER_FACTOR : 1);
    }
  }
  return value;
}

const LOGARITHMS: Float64Array = Float64Array.from({ length: 512 }, (_, chars) => Math.log(1 + chars));

function logOf(chars: number): number {
  return LOGARITHMS[chars] ?? Math.log(1 + chars);
}

function segmentWeight(
  { source, partNumber, firstRow, endRow }: FillSegment,
  { parts }: FillRows,
  touches: ReadonlyMap<string, number>,
): number {
  const { callsSince = 0, path } = parts[partNumber] ?? {};
  return (
    FILL_WEIGHTS.source[source] +
    FILL_WEIGHTS.age * Math.log(AGE_OFFSET + callsSince) +
    FILL_WEIGHTS.segmentRows * Math.log(1 + endRow - firstRow) +
    FILL_WEIGHTS.fileTouches * Math.log((path !== undefined && touches.get(path)) || 1)
  );
}

function countTouches({ parts }: FillRows): ReadonlyMap<string, number> {
  const touches = new Map<string, number>();
  for (const { path } of parts) if (path !== undefined) touches.set(path, (touches.get(path) ?? 0) + 1);
  return touches;
}
