import { readLineReferences } from "./line-references.ts";
import type { FillSource } from "./read-call.ts";
import type { FillPart, FillRows, FillSegment } from "./rows.ts";
import { ASKED, type InternedWords, MAX_ACTIVITY } from "./words.ts";

/** What each row is worth. */
export interface RowScores {
  /** Value per character; rows with a higher one are kept first. Ties are broken by age. */
  readonly density: Float64Array;
  /** 1 where a newer row has the same line. */
  readonly isRepeated: Uint8Array;
}

/**
 * Scores rows by how likely the agent needs them next: by source, age, identifiers that no newer row has, and current
 * work.
 */
export function scoreRows(fill: FillRows, numbered: InternedWords): RowScores {
  const facts = readRowFacts(fill, numbered);
  const { rows, segments } = fill;
  const lineValue = valueLines(fill, numbered, facts);
  const density = new Float64Array(rows.count);
  const nameValue = (row: number): number => (lineValue[row] ?? 0) * (facts.newNames[row] ?? 0);
  const costChars = (row: number): number => (rows.end[row] ?? 0) - (rows.start[row] ?? 0) + GAP_SHARE_CHARS;
  for (const { firstRow, endRow } of segments) {
    let [value, cost] = [nameValue(firstRow), costChars(firstRow)];
    let fromAbove = 0;
    let costAbove = 0;
    for (let row = firstRow; row < endRow; row++) {
      const fromBelow = row < endRow - 1 ? nameValue(row + 1) : 0;
      const costBelow = row < endRow - 1 ? costChars(row + 1) : 0;
      // An identifier needs its context, so its value spreads to the rows beside it.
      let names = value / cost;
      if (fromAbove > 0) names = Math.max(names, inherited(fromAbove, cost, costAbove));
      if (fromBelow > 0) names = Math.max(names, inherited(fromBelow, cost, costBelow));
      const tieBreak = 1 + (TIE_SHARE * row) / rows.count;
      density[row] = ((lineValue[row] ?? 0) / cost + names) * tieBreak;
      fromAbove = value;
      costAbove = cost;
      value = fromBelow;
      cost = costBelow;
    }
  }
  return { density, isRepeated: facts.isRepeated };
}

function inherited(nameValue: number, ownCost: number, itsCost: number): number {
  return (FILL_SHARES.neighbour * nameValue) / Math.max(ownCost, itsCost);
}

/** By how much the newest of equal rows is preferred, so that a threshold can separate them. */
const TIE_SHARE = 0.01;
/** The cost of a single row beyond its text: a line break and part of a gap marker. */
const GAP_SHARE_CHARS = 6;
/** A line that is repeated later, or has no word, is worth less than all others. */
const LEFTOVER_FACTOR = 1e-4;
const AGE_OFFSET = 3;

/** The value of each row without that of its new identifiers. */
function valueLines(fill: FillRows, numbered: InternedWords, facts: RowFacts): Float64Array {
  const { rows, segments } = fill;
  const { activity, isRepeated } = facts;
  const names = scoreEnclosingNames(fill, numbered, facts);
  const files = readFileUse(fill);
  const value = new Float64Array(rows.count);
  for (const segment of segments) {
    const base = Math.exp(segmentWeight(segment, fill, files));
    const isNamed = files.namedLines(segment);
    for (let row = segment.firstRow; row < segment.endRow; row++) {
      const active = activity[row] ?? 0;
      const weight =
        FILL_WEIGHTS.activity * active +
        FILL_WEIGHTS.activitySquared * active * active +
        FILL_WEIGHTS.enclosingNames * (names[row] ?? 0) +
        (isNamed?.(row) ? FILL_WEIGHTS.lineReference : 0);
      const isLeftover = isRepeated[row] === 1 || numbered.firstWord[row] === numbered.firstWord[row + 1];
      const factor = isLeftover ? LEFTOVER_FACTOR : (POWERS[(weight * POWER_STEPS) | 0] ?? 0);
      // Short lines get a bonus beyond their lower cost.
      value[row] = (base * factor) / Math.sqrt(1 + (rows.end[row] ?? 0) - (rows.start[row] ?? 0));
    }
  }
  return value;
}

/** A table of powers of e in small steps, beyond the sum of all weights of a row. */
const POWER_STEPS = 32;
const POWERS: Float64Array = new Float64Array(16 * POWER_STEPS).map((_, step) =>
  Math.exp(step / POWER_STEPS),
);

function segmentWeight(
  { source, partNumber }: FillSegment,
  { parts }: FillRows,
  { touches, isUsed }: FileUse,
): number {
  const { callsSince = 0, path } = parts[partNumber] ?? {};
  return (
    FILL_WEIGHTS.source[source] +
    FILL_WEIGHTS.age * Math.log(AGE_OFFSET + callsSince) +
    FILL_WEIGHTS.fileTouches * Math.log((path !== undefined && touches.get(path)) || 1) +
    (source === "read" && isUsed[partNumber] === 1 ? FILL_WEIGHTS.usedRead : 0)
  );
}

/** What calls did to files, and which of their lines are named. */
interface FileUse {
  /** Per path: the calls about it. */
  readonly touches: ReadonlyMap<string, number>;
  /** Per part: 1 when its file was changed after this read. */
  readonly isUsed: Uint8Array;
  /** True for rows whose line number is named somewhere; undefined where no line of the file is. */
  readonly namedLines: (segment: FillSegment) => ((row: number) => boolean) | undefined;
}

function readFileUse(fill: FillRows): FileUse {
  const { parts, rows } = fill;
  const touches = new Map<string, number>();
  const changed = new Set<string>();
  const isUsed = new Uint8Array(parts.length);
  for (let number = parts.length - 1; number >= 0; number--) {
    const { path, call } = parts[number] as FillPart;
    if (path === undefined) continue;
    touches.set(path, (touches.get(path) ?? 0) + 1);
    if (changed.has(path)) isUsed[number] = 1;
    if (call?.hasChanged) changed.add(path);
  }
  const references = readLineReferences(fill);
  const namedLines: FileUse["namedLines"] = ({ source, partNumber, text }) => {
    const lines = source === "read" && references.get(parts[partNumber]?.path?.split(/[/\\]/).at(-1) ?? "");
    if (!lines) return undefined;
    return (row) => {
      let line = 0;
      // A separator stands between number and line.
      const end = (rows.bodyStart[row] ?? 0) - 1;
      for (let at = rows.start[row] ?? 0; at < end; at++) line = line * 10 + text.charCodeAt(at) - DIGIT_ZERO;
      return lines.has(line);
    };
  };
  return { touches, isUsed, namedLines };
}

const DIGIT_ZERO = 48;

/**
 * Weights fitted on recorded sessions: the logarithm of a row's value is a sum of these. How they were found, and
 * what else was tried, is in research/decisions/0020-fill.md.
 */
export const FILL_WEIGHTS = {
  source: {
    user: 0,
    agent: 0.2,
    call: 0,
    change: 0.7,
    removed: -2,
    input: 0.2,
    read: 0.3,
    search: -0.6,
    output: 0,
  } as Readonly<Record<FillSource, number>>,
  /** Per logarithm of the results since. */
  age: -1.1,
  /** For identifiers that no newer row has. */
  firstNewName: 2,
  secondNewName: 0.6,
  thirdNewName: 0.3,
  /** Per logarithm of the number of texts with such an identifier. */
  nameTexts: 0.6,
  /** Per unit of how much agent and user wrote the row's words lately. */
  activity: 0.9,
  activitySquared: -0.12,
  /** For a row whose identifiers, or those of an enclosing row, were written lately. */
  enclosingNames: 2.5,
  /** Per logarithm of the calls about the same file. */
  fileTouches: 0.4,
  /** For a read whose file was changed later: it has served its purpose. */
  usedRead: -2,
  /** For a line that is named by its number. */
  lineReference: 3,
  /** For a row of the newest work. */
  recent: 2,
  /** For a row of the newest results, in addition. */
  newest: 2,
  /** For a row of the newest work in a text that is too long to be kept whole. */
  recentLong: 1,
} as const;

/** How the budget is divided. */
export const FILL_SHARES = {
  /** Share of the budget for the newest messages as they are. */
  tail: 0.15,
  /** Share of the budget up to which work counts as the newest. */
  recent: 0.7,
  /** Share of the budget for what users said and for results that are never cut. */
  words: 0.15,
  /** Share of the budget for files that a task names. */
  directed: 0.4,
  /** A text that takes more than this share of the room left for the newest work is not kept whole. */
  longText: 0.25,
  /** The share of its value that a row passes on to the rows beside it. */
  neighbour: 0.5,
  /** A gap that saves fewer characters than this is filled. */
  closedGapChars: 60,
  /** The same in files, as a share of the budget, and at most: an edit needs a connected place. */
  closedFileGap: 0.0075,
  closedFileGapChars: 320,
} as const;

/** What is derived from the words of each row. */
interface RowFacts {
  /** How much agent and user wrote the row's words lately. */
  readonly activity: Float64Array;
  /** The value of the row's new identifiers, as a multiple of the row's own value. */
  readonly newNames: Float64Array;
  /** From 0 to 1: how much the row's identifiers were written lately; more for identifiers that the task names. */
  readonly namesWritten: Float64Array;
  /** 1 where a newer row has the same line. */
  readonly isRepeated: Uint8Array;
}

/**
 * Reads the rows from the newest to the oldest. The input of an edit counts as newer than its output, which often
 * repeats it.
 */
export function readRowFacts(fill: FillRows, numbered: InternedWords): RowFacts {
  const { words, firstWord, isIdentifier, lineOf, use } = numbered;
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
      active += use[4 * word + 3] ?? 0;
      if (isIdentifier[word] === 1) {
        written = Math.max(written, use[4 * word + 1] ?? 0);
        if (isKnownWord[word] === 0) {
          names++;
          texts = Math.max(texts, use[4 * word + 2] ?? 1);
        }
      }
      isKnownWord[word] = 1;
    }
    activity[row] = Math.min(MAX_ACTIVITY, active);
    namesWritten[row] = written < ASKED ? Math.min(1, written / MANY_WRITTEN) : ASKED_NAMES;
    if (names > 0)
      newNames[row] =
        (NEW_NAME_FACTORS[Math.min(names, 3)] ?? 0) * (texts > 1 ? texts ** FILL_WEIGHTS.nameTexts : 1);
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

/** Written this often lately, an identifier counts fully. */
const MANY_WRITTEN = 2;
/** An identifier in the task outweighs age and the bonus of the newest results. */
const ASKED_NAMES = 3.2;
const { firstNewName, secondNewName, thirdNewName } = FILL_WEIGHTS;

/** Factor by the number of new identifiers. */
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

/**
 * Per row, from 0 to 1: how much its identifiers, or those of a row that encloses it by indentation, were written
 * lately. So a function that the agent mentions counts with its body and the comment above it.
 */
export function scoreEnclosingNames(
  { segments, rows }: FillRows,
  { indent, isComment }: InternedWords,
  { namesWritten }: RowFacts,
): Float64Array {
  const names = new Float64Array(rows.count);
  // The rows that enclose the current one, outermost first.
  const columnsAbove: number[] = [];
  const namesAbove: number[] = [];
  for (const segment of segments) {
    if (!isFileText(segment)) continue;
    const { firstRow, endRow } = segment;
    let depth = 0;
    for (let row = firstRow; row < endRow; row++) {
      const columns = indent[row] ?? 0;
      while (depth > 0 && (columnsAbove[depth - 1] ?? 0) >= columns) depth--;
      names[row] = depth === 0 ? 0 : (namesAbove[depth - 1] ?? 0);
      if (isComment[row] === 1) continue;
      names[row] = Math.max(names[row] ?? 0, namesWritten[row] ?? 0);
      columnsAbove[depth] = columns;
      namesAbove[depth++] = names[row] ?? 0;
    }
    for (let row = endRow - 2; row >= firstRow; row--)
      if (isComment[row] === 1 && indent[row] === indent[row + 1])
        names[row] = Math.max(names[row] ?? 0, names[row + 1] ?? 0);
  }
  return names;
}

function isFileText({ source }: FillSegment): boolean {
  return source !== "call" && source !== "user" && source !== "agent";
}
