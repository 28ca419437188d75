import type { FillPart, FillRows, FillSegment } from "./fill-rows.ts";
import { FILL_WEIGHTS } from "./fill-weights.ts";
import type { NumberedWords } from "./number-words.ts";
import { MAX_ACTIVITY, type WordUse } from "./word-use.ts";

/** What the words of each row say about it. */
export interface RowFacts {
  /** How much agent and user wrote lately of what the row says. */
  readonly activity: Float64Array;
  /** How many times its own value the names of the row are worth that no newer row has. */
  readonly newNames: Float64Array;
  /** From 0 to 1: how much was written lately of the row's names. */
  readonly namesWritten: Float64Array;
  /** 1 where a newer row shows the same line. */
  readonly isRepeated: Uint8Array;
}

/** Reads the rows from the newest to the oldest. What a change says counts as newer than the output that echoes it. */
export function readNewestFirst(fill: FillRows, numbered: NumberedWords, use: WordUse): RowFacts {
  const { words, firstWord, isIdentifier, lineOf } = numbered;
  const count = fill.rows.count;
  const activity = new Float64Array(count);
  const newNames = new Float64Array(count);
  const namesWritten = new Float64Array(count);
  const isRepeated = new Uint8Array(count);
  const isKnownWord = new Uint8Array(numbered.wordCount);
  const isKnownLine = new Uint8Array(numbered.lineCount);

  function readRow(row: number): void {
    let active = 0;
    let names = 0;
    let texts = 1;
    let written = 0;
    const lastWord = firstWord[row + 1] ?? 0;
    for (let at = firstWord[row] ?? 0; at < lastWord; at++) {
      const word = words[at] ?? 0;
      active += use.activity[word] ?? 0;
      if (isIdentifier[word] === 1) {
        written = Math.max(written, use.written[word] ?? 0);
        if (isKnownWord[word] === 0) {
          names++;
          texts = Math.max(texts, use.texts[word] ?? 1);
        }
      }
      isKnownWord[word] = 1;
    }
    activity[row] = Math.min(MAX_ACTIVITY, active);
    namesWritten[row] = Math.min(1, written / MANY_WRITTEN);
    if (names > 0) newNames[row] = (NEW_NAME_FACTORS[Math.min(names, 3)] ?? 0) * spreadFactor(texts);
    const line = lineOf[row] ?? 0;
    if (isKnownLine[line] === 1) isRepeated[row] = 1;
    isKnownLine[line] = 1;
  }

  for (let number = fill.parts.length - 1; number >= 0; number--) {
    for (const { firstRow, endRow } of newestFirst(fill, fill.parts[number] as FillPart))
      for (let row = endRow - 1; row >= firstRow; row--) readRow(row);
  }
  return { activity, newNames, namesWritten, isRepeated };
}

/** Names that were written this often lately count fully. */
const MANY_WRITTEN = 2;
const { firstNewName, secondNewName, thirdNewName } = FILL_WEIGHTS;
const SPREAD_FACTORS: Float64Array = Float64Array.from(
  { length: 64 },
  (_, texts) => texts ** FILL_WEIGHTS.nameTexts,
);

function spreadFactor(texts: number): number {
  return SPREAD_FACTORS[texts] ?? texts ** FILL_WEIGHTS.nameTexts;
}

/** By the number of new names. */
const NEW_NAME_FACTORS: readonly number[] = [
  0,
  Math.exp(firstNewName) - 1,
  Math.exp(firstNewName + secondNewName) - 1,
  Math.exp(firstNewName + secondNewName + thirdNewName) - 1,
];

function newestFirst({ segments }: FillRows, { firstSegment, endSegment }: FillPart): readonly FillSegment[] {
  const own = segments.slice(firstSegment, endSegment).reverse();
  const changes = own.filter(isChange);
  return changes.length === 0 ? own : [...changes, ...own.filter((segment) => !isChange(segment))];
}

function isChange({ source }: FillSegment): boolean {
  return source === "change" || source === "removed";
}
