import type { FillRows, FillSegment } from "./fill-rows.ts";
import { FILL_SHARES, FILL_WEIGHTS } from "./fill-weights.ts";
import type { NumberedWords } from "./number-words.ts";

/** What each row is worth. */
export interface RowScores {
  /** Value a character; higher stays longer. No two rows that matter are equal. */
  readonly density: Float64Array;
  /** 1 where a newer row shows the same line. */
  readonly isRepeated: Uint8Array;
}

/** Scores rows by how likely the agent needs them next: by source, age, names found nowhere newer, and what is being worked on. */
export function scoreRows(fill: FillRows, numbered: NumberedWords): RowScores {
  const { lineValue, nameValue, isRepeated } = valueRows(fill, numbered);
  const density = new Float64Array(lineValue.length);
  const costChars = (row: number): number => {
    const { start = 0, end = 0 } = fill.rows[row] ?? {};
    return end - start + GAP_SHARE_CHARS;
  };
  for (const { firstRow, endRow } of fill.segments) {
    for (let row = firstRow; row < endRow; row++) {
      const cost = costChars(row);
      // A name is of use only between its neighbours; a short one must not come without the line that it belongs to.
      let names = (nameValue[row] ?? 0) / cost;
      for (const beside of [row - 1, row + 1]) {
        const value = beside < firstRow || beside >= endRow ? 0 : (nameValue[beside] ?? 0);
        if (value > 0)
          names = Math.max(names, (FILL_SHARES.neighbour * value) / Math.max(cost, costChars(beside)));
      }
      const tieBreak = 1 + row * 1e-9;
      density[row] = ((lineValue[row] ?? 0) / cost + names) * tieBreak;
    }
  }
  return { density, isRepeated };
}

/** A row alone costs a line break and part of a gap marker beside its text. */
const GAP_SHARE_CHARS = 6;
/** A line that is shown again later, or has no word in it, comes behind everything else. */
const LEFTOVER_FACTOR = 1e-4;
const AGE_OFFSET = 3;

interface RowValues {
  /** What the line itself is worth, which an edit may have to repeat. */
  readonly lineValue: Float64Array;
  /** What the names are worth that no newer line has. */
  readonly nameValue: Float64Array;
  readonly isRepeated: Uint8Array;
}

function valueRows(fill: FillRows, numbered: NumberedWords): RowValues {
  const { words, firstWord, isIdentifier, lineOf } = numbered;
  const lineValue = new Float64Array(fill.rows.length);
  const nameValue = new Float64Array(fill.rows.length);
  const isRepeated = new Uint8Array(fill.rows.length);
  const activity = wordActivity(fill, numbered);
  const isKnownWord = new Uint8Array(numbered.wordCount);
  const isKnownLine = new Uint8Array(numbered.lineCount);
  const touches = countTouches(fill);
  for (const segment of fill.segments.toReversed()) {
    const base = segmentWeight(segment, fill, touches);
    for (let row = segment.endRow - 1; row >= segment.firstRow; row--) {
      let active = 0;
      let newNames = 0;
      const lastWord = firstWord[row + 1] ?? 0;
      for (let at = firstWord[row] ?? 0; at < lastWord; at++) {
        const word = words[at] ?? 0;
        active += activity[word] ?? 0;
        if (isIdentifier[word] === 1 && isKnownWord[word] === 0) newNames++;
        isKnownWord[word] = 1;
      }
      const line = lineOf[row] ?? 0;
      if (isKnownLine[line] === 1) isRepeated[row] = 1;
      isKnownLine[line] = 1;
      const isLeftover = isRepeated[row] === 1 || lastWord === firstWord[row];
      const { start = 0, end = 0 } = fill.rows[row] ?? {};
      const weight =
        base +
        activityWeight(Math.min(MAX_ACTIVITY, active)) +
        FILL_WEIGHTS.lineChars * Math.log(1 + end - start);
      const worth = Math.exp(weight) * (isLeftover ? LEFTOVER_FACTOR : 1);
      lineValue[row] = worth;
      if (newNames > 0) nameValue[row] = worth * (NEW_NAME_FACTORS[Math.min(newNames, 3)] ?? 0);
    }
  }
  return { lineValue, nameValue, isRepeated };
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

function activityWeight(active: number): number {
  return FILL_WEIGHTS.activity * active + FILL_WEIGHTS.activitySquared * active * active;
}

const { firstNewName, secondNewName, thirdNewName } = FILL_WEIGHTS;
/** How many times a line's own value its new names are worth, by their number. */
const NEW_NAME_FACTORS: readonly number[] = [
  0,
  Math.exp(firstNewName) - 1,
  Math.exp(firstNewName + secondNewName) - 1,
  Math.exp(firstNewName + secondNewName + thirdNewName) - 1,
];

function countTouches({ parts }: FillRows): ReadonlyMap<string, number> {
  const touches = new Map<string, number>();
  for (const { path } of parts) if (path !== undefined) touches.set(path, (touches.get(path) ?? 0) + 1);
  return touches;
}

const MAX_ACTIVITY = 4;
/** After so many results, words that were written count a third. */
const ACTIVITY_RESULTS = 15;

/** Per word: how much agent and user wrote it lately, less for words that stand everywhere. */
function wordActivity(
  { segments, parts }: FillRows,
  { words, firstWord, wordCount }: NumberedWords,
): Float64Array {
  const activity = new Float64Array(wordCount);
  const uses = new Int32Array(wordCount);
  for (const { source, partNumber, firstRow, endRow } of segments) {
    const isWritten = source !== "read" && source !== "search" && source !== "output";
    const fresh = isWritten ? Math.exp(-(parts[partNumber]?.callsSince ?? 0) / ACTIVITY_RESULTS) : 0;
    const lastWord = firstWord[endRow] ?? 0;
    for (let at = firstWord[firstRow] ?? 0; at < lastWord; at++) {
      const word = words[at] ?? 0;
      uses[word] = (uses[word] ?? 0) + 1;
      activity[word] = (activity[word] ?? 0) + fresh;
    }
  }
  for (let word = 0; word < wordCount; word++)
    activity[word] = Math.min(MAX_ACTIVITY, activity[word] ?? 0) / Math.sqrt(uses[word] ?? 1);
  return activity;
}
