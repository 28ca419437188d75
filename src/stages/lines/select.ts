import { handleOf } from "../../transcript/content.ts";
import type { Message } from "../../transcript/message.ts";
import { type Minimums, tiersOfResults } from "../tiers.ts";
import { requireFilesOfTask } from "./files-of-task.ts";
import type { FillSource } from "./read-call.ts";
import { type FillPart, type FillRows, type FillSegment, wholeChars } from "./rows.ts";
import { FILL_SHARES, FILL_WEIGHTS, type RowScores } from "./score.ts";

/** The selected rows of a transcript. */
export interface RowSelection {
  /** Per row: 1 when it is kept. */
  readonly isKept: Uint8Array;
  /** Per part: 1 when any row of it is kept. */
  readonly isShown: Uint8Array;
  /** Parts from this one on stay unchanged. */
  readonly firstWholePart: number;
  /** Parts before it whose result stays word for word. */
  readonly verbatimParts?: ReadonlySet<number>;
}

/** The line in place of lines that were left out. */
export const GAP_MARKER = "[...]";

/** Selects rows for a budget: required ones first, then by value per character, down to the threshold at which the budget is full. */
export function selectRows(fill: FillRows, scores: RowScores, options: SelectOptions): RowSelection {
  const { maxChars } = options;
  const { worth, firstWholePart, tailChars, verbatimParts } = requireRows(fill, scores, options);
  const { closedGapChars, closedFileGap, closedFileGapChars } = FILL_SHARES;
  const fileGapChars = Math.max(closedGapChars, Math.min(closedFileGapChars, closedFileGap * maxChars));
  const ranges = measureSegments(fill, worth, verbatimParts);
  const isKept = new Uint8Array(fill.rows.count);
  const isShown = new Uint8Array(fill.parts.length);
  let isLast = false;

  /** Keeps all rows from a threshold on; gives the length of the result. */
  function keepFrom(threshold: number): number {
    let chars = 0;
    let labelled = -1;
    for (let number = 0; number < firstWholePart; number++) {
      const part = fill.parts[number] as FillPart;
      isShown[number] = 0;
      for (let segment = part.firstSegment; segment < part.endSegment; segment++)
        if ((ranges.highest[segment] ?? 0) >= threshold) isShown[number] = 1;
      if (isShown[number] === 0) continue;
      if (part.messageNumber !== labelled) chars += LABEL_CHARS;
      labelled = part.messageNumber;
      chars += part.headChars;
      for (let segment = part.firstSegment; segment < part.endSegment; segment++)
        chars += keepInSegment(segment, threshold);
    }
    return chars;
  }

  function keepInSegment(number: number, threshold: number): number {
    const { source, firstRow, endRow } = fill.segments[number] as FillSegment;
    // The head of a call is counted with the call.
    if (source === "call") return 0;
    const chars = ranges.chars[number] ?? 0;
    if ((ranges.lowest[number] ?? 0) >= threshold || chars <= FILL_SHARES.closedGapChars) {
      if (isLast) isKept.fill(1, firstRow, endRow);
      return chars;
    }
    if ((ranges.highest[number] ?? 0) < threshold) return GAP_CHARS;
    const maxGapChars = source === "read" || source === "change" ? fileGapChars : undefined;
    const keep = { firstRow, endRow, worth, threshold, maxGapChars, isKept: isLast ? isKept : undefined };
    return keepRows(fill, keep) ?? chars;
  }

  let tooLow = LOWEST;
  let fits = HIGHEST;
  for (let round = 0; round < ROUNDS; round++) {
    const middle = (tooLow + fits) / 2;
    const chars = tailChars + keepFrom(Math.exp(middle));
    if (chars > maxChars) tooLow = middle;
    else {
      fits = middle;
      if (chars > FULL_ENOUGH * maxChars) break;
    }
  }
  isLast = true;
  keepFrom(Math.exp(fits));
  return { isKept, isShown, firstWholePart, verbatimParts };
}

interface KeepRows {
  readonly firstRow: number;
  readonly endRow: number;
  readonly worth: ArrayLike<number>;
  readonly threshold: number;
  /** Unset when only the length is computed. */
  readonly isKept?: Uint8Array | undefined;
  readonly maxGapChars?: number | undefined;
}

/** Keeps rows of one segment and closes small gaps; undefined when no gap is left. */
function keepRows({ rows }: FillRows, options: KeepRows): number | undefined {
  const { firstRow, endRow, worth, threshold, isKept, maxGapChars = FILL_SHARES.closedGapChars } = options;
  let isWhole = true;
  let chars = 0;
  let gapChars = 0;
  let gapStart = firstRow;
  for (let row = firstRow; row <= endRow; row++) {
    if (row < endRow && (worth[row] ?? 0) < threshold) {
      gapChars += rows.chars[row] ?? 0;
      continue;
    }
    const isClosed = gapChars <= maxGapChars;
    if (isClosed) isKept?.fill(1, gapStart, row);
    chars += isClosed ? gapChars : GAP_CHARS;
    if (!isClosed) isWhole = false;
    if (row === endRow) break;
    if (isKept !== undefined) isKept[row] = 1;
    chars += rows.chars[row] ?? 0;
    gapStart = row + 1;
    gapChars = 0;
  }
  return isWhole ? undefined : chars;
}

interface SelectOptions {
  readonly maxChars: number;
  readonly render: (message: Message) => string;
  /** A lower bound of `render`. */
  readonly leastChars?: ((message: Message) => number) | undefined;
  /** Tools whose results stay whole; a name matches when it contains one of these. */
  readonly neverCutTools: readonly string[];
  /** What each result keeps at least; unset: nothing. */
  readonly minimums?: Minimums;
  /** Names files and identifiers that are needed. */
  readonly task?: string;
}

/** Bounds of the logarithm of the threshold. */
const LOWEST = -24;
const HIGHEST = 8;
const ROUNDS = 24;
const FULL_ENOUGH = 0.998;
const GAP_CHARS: number = GAP_MARKER.length + 1;
/** A label with its line breaks. */
const LABEL_CHARS = 8;

/** Length and bounds of the value of each segment, so that most segments are decided without their rows. */
function measureSegments(fill: FillRows, worth: Float64Array, verbatimParts: ReadonlySet<number>) {
  const { segments, rows } = fill;
  const chars = new Int32Array(segments.length);
  const lowest = new Float64Array(segments.length);
  const highest = new Float64Array(segments.length);
  for (const [number, segment] of segments.entries()) {
    let low = Number.POSITIVE_INFINITY;
    let high = 0;
    for (let row = segment.firstRow; row < segment.endRow; row++) {
      const value = worth[row] ?? 0;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const isVerbatim = isOutput(segment) && verbatimParts.has(segment.partNumber);
    chars[number] = isVerbatim ? segment.text.length + 1 : wholeChars(rows, segment);
    lowest[number] = low;
    highest[number] = high;
  }
  return { chars, lowest, highest };
}

/** The worth of all rows after required and preferred rows are marked. */
interface RequiredRows {
  /** Per row: worth per character; infinite when it must be kept. */
  readonly worth: Float64Array;
  /** Parts from here on stay as they are, and take this much. */
  readonly firstWholePart: number;
  readonly tailChars: number;
  /** Parts before it whose result stays word for word. */
  readonly verbatimParts: ReadonlySet<number>;
}

/** Requires the newest messages, what users said, files that a task names, and the minimums of results; prefers the newest work. */
export function requireRows(fill: FillRows, scores: RowScores, options: SelectOptions): RequiredRows {
  const tail = wholeTail(fill, options);
  const worth = scores.density.slice();
  const wordsChars = requireWords(fill, worth, { ...tail, ...options });
  const { minimums, maxChars, task } = options;
  const taskRoom = { ...tail, roomChars: FILL_SHARES.directed * maxChars, isRepeated: scores.isRepeated };
  const directedChars = task === undefined ? 0 : requireFilesOfTask(fill, worth, { task, ...taskRoom });
  const roomChars = FILL_SHARES.recent * maxChars - tail.tailChars - wordsChars - directedChars;
  preferRecent(fill, scores, { worth, ...tail, roomChars });
  const leftChars = maxChars - tail.tailChars - wordsChars - directedChars;
  const verbatimParts =
    minimums === undefined
      ? NO_PARTS
      : requireMinimums(fill, worth, { minimums, roomChars: leftChars, firstWholePart: tail.firstWholePart });
  return { worth, ...tail, verbatimParts };
}

const NO_PARTS: ReadonlySet<number> = new Set();
type Tail = Pick<RequiredRows, "firstWholePart" | "tailChars">;

function wholeTail({ messages, parts }: FillRows, options: SelectOptions): Tail {
  const { render, leastChars = () => 0 } = options;
  const maxChars = FILL_SHARES.tail * options.maxChars;
  let tailChars = 0;
  let firstMessage = messages.length;
  for (; firstMessage > 0; firstMessage--) {
    const message = messages[firstMessage - 1] as Message;
    if (tailChars + leastChars(message) > maxChars) break;
    const chars = render(message).length;
    if (tailChars + chars > maxChars) break;
    tailChars += chars;
  }
  const first = parts.findIndex(({ messageNumber }) => messageNumber >= firstMessage);
  return { firstWholePart: first === -1 ? parts.length : first, tailChars };
}

/**
 * Requires summaries, the first request, then everything that users said, newest first, within its share. Of a
 * summary or a first request that is too long the beginning is kept.
 */
function requireWords(
  fill: FillRows,
  worth: Float64Array,
  { firstWholePart, maxChars, neverCutTools }: Tail & SelectOptions,
): number {
  const { rows, segments } = fill;
  const said = fill.parts.slice(0, firstWholePart).filter((part) => isSaid(part, neverCutTools));
  const request = said.find(({ message }) => message.role === "user");
  const isFirst = (part: FillPart): boolean => part === request || part.message.summary === true;
  let roomChars = FILL_SHARES.words * maxChars;
  const require = (part: FillPart): void => {
    const chars = charsOfPart(fill, part);
    if (chars > roomChars && !isFirst(part)) return;
    const givenChars = chars > roomChars ? roomChars / 2 : chars;
    let leftChars = givenChars - part.headChars;
    roomChars -= givenChars;
    for (let segment = part.firstSegment; segment < part.endSegment; segment++) {
      const { firstRow, endRow, source } = segments[segment] as FillSegment;
      for (let row = firstRow; row < endRow; row++) {
        if (source !== "call") leftChars -= rows.chars[row] ?? 0;
        if (leftChars < 0) return;
        worth[row] = Number.POSITIVE_INFINITY;
      }
    }
  };
  for (const part of said) if (isFirst(part)) require(part);
  for (const part of said.toReversed()) if (!isFirst(part)) require(part);
  return FILL_SHARES.words * maxChars - roomChars;
}

function isSaid({ part, message }: FillPart, neverCutTools: readonly string[]): boolean {
  if (part.type === "tool") return neverCutTools.some((name) => part.tool.includes(name));
  return message.summary === true || message.role === "user";
}

/**
 * Never preferred as newest work: output of searches and programs is long and seldom needed whole, and removed text
 * is needed least.
 */
const NEVER_RECENT: ReadonlySet<FillSource> = new Set(["search", "output", "removed"]);

/** Raises the value of the newest work, from the newest to the oldest, within its share. */
function preferRecent(
  fill: FillRows,
  { isRepeated }: RowScores,
  { worth, firstWholePart, ...room }: Tail & { readonly worth: Float64Array; readonly roomChars: number },
): void {
  let { roomChars } = room;
  for (let number = firstWholePart - 1; number >= 0 && roomChars > 0; number--) {
    const part = fill.parts[number] as FillPart;
    roomChars -= part.headChars;
    for (let segment = part.endSegment - 1; segment >= part.firstSegment; segment--) {
      const { source, firstRow, endRow } = fill.segments[segment] as FillSegment;
      if (NEVER_RECENT.has(source) || worth[firstRow] === Number.POSITIVE_INFINITY) continue;
      let chars = 0;
      for (let row = firstRow; row < endRow; row++)
        if (isRepeated[row] === 0) chars += fill.rows.chars[row] ?? 0;
      const isLong = chars > FILL_SHARES.longText * roomChars;
      const newest = part.callsSince < NEWEST_RESULTS ? FILL_WEIGHTS.newest : 0;
      const factor = Math.exp(newest + (isLong ? FILL_WEIGHTS.recentLong : FILL_WEIGHTS.recent));
      for (let row = firstRow; row < endRow; row++)
        if (isRepeated[row] === 0) worth[row] = (worth[row] ?? 0) * factor;
      if (!isLong) roomChars -= chars;
    }
  }
}

const NEWEST_RESULTS = 5;

/** Requires what each result keeps at least, newest first, as far as that fits; gives the parts that stay word for word. */
function requireMinimums(
  fill: FillRows,
  worth: Float64Array,
  {
    minimums,
    firstWholePart,
    ...room
  }: { readonly minimums: Minimums; readonly firstWholePart: number; readonly roomChars: number },
): ReadonlySet<number> {
  const verbatimParts = new Set<number>();
  const tiers = tiersOfResults(fill.messages, minimums);
  const isChosen = new Uint8Array(fill.rows.count);
  let { roomChars } = room;
  for (let number = firstWholePart - 1; number >= 0 && roomChars > 0; number--) {
    const part = fill.parts[number] as FillPart;
    const segment = fill.segments[part.endSegment - 1] as FillSegment;
    const tier = part.part.type === "tool" ? tiers.get(handleOf(part.message, part.partIndex)) : undefined;
    if (tier === undefined || !isOutput(segment)) continue;
    const { firstRow, endRow, text } = segment;
    const isCut = chooseRows(fill, segment, { worth, isChosen, minChars: minimums.resultChars[tier] });
    const keptChars = isCut ? keepRows(fill, { firstRow, endRow, worth: isChosen, threshold: 1 }) : undefined;
    const chars = headCharsOf(fill, part) + (keptChars ?? text.length + 1);
    if (chars > roomChars) continue;
    roomChars -= chars;
    if (keptChars === undefined) verbatimParts.add(number);
    for (let row = firstRow; row < endRow; row++)
      if (keptChars === undefined || isChosen[row] === 1) worth[row] = Number.POSITIVE_INFINITY;
  }
  return verbatimParts;
}

/** Characters that a call takes regardless of its result: label, head, and gaps or short texts of its input. */
function headCharsOf({ segments, rows }: FillRows, part: FillPart): number {
  let chars = LABEL_CHARS + part.headChars;
  for (let number = part.firstSegment; number < part.endSegment - 1; number++) {
    const segment = segments[number] as FillSegment;
    if (segment.source === "call") continue;
    const whole = wholeChars(rows, segment);
    chars += whole <= FILL_SHARES.closedGapChars ? whole : GAP_CHARS;
  }
  return chars;
}

/** Chooses the best rows of a text up to a number of characters; false when that is all of them. */
function chooseRows(
  { rows }: FillRows,
  { firstRow, endRow, text }: FillSegment,
  {
    worth,
    isChosen,
    minChars,
  }: { readonly worth: Float64Array; readonly isChosen: Uint8Array; readonly minChars: number },
): boolean {
  if (text.length <= minChars) return false;
  const charsAt = new Int32Array(LEVELS);
  for (let row = firstRow; row < endRow; row++) {
    const level = levelOf(worth[row] ?? 0);
    isChosen[row] = level;
    charsAt[level] = (charsAt[level] ?? 0) + textChars(rows, row);
  }
  let [level, above] = [LEVELS, 0];
  while (level > 0 && above < minChars) above += charsAt[--level] ?? 0;
  if (above < minChars) return false;
  // Fill up with rows of the last level, from the beginning.
  let leftChars = minChars - (above - (charsAt[level] ?? 0));
  for (let row = firstRow; row < endRow; row++) {
    const own = isChosen[row] ?? 0;
    const isTaken = own > level || (own === level && leftChars > 0);
    isChosen[row] = isTaken ? 1 : 0;
    if (own === level && isTaken) leftChars -= textChars(rows, row);
  }
  return true;
}

/** Rows are sorted into this many levels by the logarithm of their worth. */
const LEVELS = 256;

function levelOf(worth: number): number {
  const share = (Math.log(worth) - LOWEST) / (HIGHEST - LOWEST);
  return Math.max(0, Math.min(LEVELS - 1, Math.floor(share * LEVELS)));
}

function textChars({ start, end }: FillRows["rows"], row: number): number {
  return (end[row] ?? 0) - (start[row] ?? 0);
}

/** True for the output of a call, and for its error. */
export function isOutput({ source }: FillSegment): boolean {
  return source === "read" || source === "search" || source === "output";
}

function charsOfPart(fill: FillRows, { headChars, firstSegment, endSegment }: FillPart): number {
  let chars = headChars;
  for (let segment = firstSegment; segment < endSegment; segment++) {
    const { source, firstRow, endRow } = fill.segments[segment] as FillSegment;
    if (source === "call") continue;
    for (let row = firstRow; row < endRow; row++) chars += fill.rows.chars[row] ?? 0;
  }
  return chars;
}
