import type { FillPart, FillRows, FillSegment } from "./fill-rows.ts";
import { FILL_SHARES, FILL_WEIGHTS } from "./fill-weights.ts";
import { type RequiredRows, type RequireOptions, requireRows } from "./require-rows.ts";
import type { RowScores } from "./score-rows.ts";
import { charsOfRow } from "./split-rows.ts";

/** What stays of a transcript. */
export interface RowSelection {
  /** Per row: 1 when it stays. */
  readonly isKept: Uint8Array;
  /** Per part: 1 when any of it stays. */
  readonly isShown: Uint8Array;
  /** Parts from here on stay as they are. */
  readonly firstWholePart: number;
}

/** The line that stands for lines that were left out. */
export const GAP_MARKER = "[...]";

/** Chooses rows for a budget: what must stay, then by value a character, down to the threshold at which the budget is full. */
export function selectRows(fill: FillRows, scores: RowScores, options: RequireOptions): RowSelection {
  const required = requireRows(fill, scores, options);
  const draft: Draft = {
    isKept: new Uint8Array(fill.rows.length),
    isShown: new Uint8Array(fill.parts.length),
  };
  const charsAt = (threshold: number): number =>
    required.tailChars + keepFrom({ fill, scores, required, draft, threshold });
  let tooLow = LOWEST;
  let fits = HIGHEST;
  for (let round = 0; round < ROUNDS; round++) {
    const middle = (tooLow + fits) / 2;
    const chars = charsAt(Math.exp(middle));
    if (chars > options.maxChars) tooLow = middle;
    else {
      fits = middle;
      if (chars > FULL_ENOUGH * options.maxChars) break;
    }
  }
  charsAt(Math.exp(fits));
  return { ...draft, firstWholePart: required.firstWholePart };
}

/** Logarithms between which every threshold is. */
const LOWEST = -24;
const HIGHEST = 8;
const ROUNDS = 24;
const RECENT_FACTOR: number = Math.exp(FILL_WEIGHTS.recent);
const FULL_ENOUGH = 0.995;
const GAP_CHARS: number = GAP_MARKER.length + 1;
/** A label with its line breaks. */
const LABEL_CHARS = 8;

interface Draft {
  readonly isKept: Uint8Array;
  readonly isShown: Uint8Array;
}

interface KeepInput {
  readonly fill: FillRows;
  readonly scores: RowScores;
  readonly required: RequiredRows;
  readonly draft: Draft;
  readonly threshold: number;
}

/** Keeps all rows from a threshold on, and says what they and everything around them take. */
function keepFrom(input: KeepInput): number {
  const { fill, required, draft } = input;
  let chars = 0;
  let labelled = -1;
  for (let number = 0; number < required.firstWholePart; number++) {
    const part = fill.parts[number] as FillPart;
    let partChars = part.headChars;
    let keptRows = 0;
    for (let segment = part.firstSegment; segment < part.endSegment; segment++) {
      const kept = keepInSegment(fill.segments[segment] as FillSegment, input);
      partChars += kept.chars;
      keptRows += kept.rows;
    }
    draft.isShown[number] = keptRows > 0 ? 1 : 0;
    if (keptRows === 0) continue;
    if (part.messageNumber !== labelled) chars += LABEL_CHARS;
    labelled = part.messageNumber;
    chars += partChars;
  }
  return chars;
}

function keepInSegment(
  { source, firstRow, endRow }: FillSegment,
  { fill, scores: { density }, required: { isRequired, isRecent }, draft: { isKept }, threshold }: KeepInput,
): { readonly chars: number; readonly rows: number } {
  let chars = 0;
  let rows = 0;
  let previous = firstRow - 1;
  const closeGap = (from: number, to: number): number => {
    let gapChars = 0;
    for (let row = from; row < to && gapChars <= FILL_SHARES.closedGapChars; row++)
      gapChars += rowChars(fill, row);
    if (gapChars > FILL_SHARES.closedGapChars) return GAP_CHARS;
    isKept.fill(1, from, to);
    return gapChars;
  };
  for (let row = firstRow; row < endRow; row++) {
    isKept[row] = 0;
    const worth = (density[row] ?? 0) * (isRecent[row] === 1 ? RECENT_FACTOR : 1);
    if (isRequired[row] !== 1 && worth < threshold) continue;
    isKept[row] = 1;
    rows++;
    if (row > previous + 1) chars += closeGap(previous + 1, row);
    chars += rowChars(fill, row);
    previous = row;
  }
  // The head of a call is written with the call, and counted there.
  if (source === "call") return { chars: 0, rows };
  if (previous < endRow - 1) chars += rows === 0 ? GAP_CHARS : closeGap(previous + 1, endRow);
  return { chars, rows };
}

function rowChars({ rows }: FillRows, row: number): number {
  const found = rows[row];
  return found === undefined ? 0 : charsOfRow(found);
}
