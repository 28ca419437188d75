import type { Message } from "../../transcript/message.ts";
import type { FillSource } from "./read-call.ts";
import { type FillPart, type FillRows, type FillSegment, wholeChars } from "./rows.ts";
import { FILL_SHARES, FILL_WEIGHTS, type RowScores } from "./score.ts";

/** What is kept of a transcript. */
export interface RowSelection {
  /** Per row: 1 when it is kept. */
  readonly isKept: Uint8Array;
  /** Per part: 1 when any of it is kept. */
  readonly isShown: Uint8Array;
  /** Parts from here on stay as they are. */
  readonly firstWholePart: number;
}

/** The line in place of lines that were left out. */
export const GAP_MARKER = "[...]";

/** Selects rows for a budget: required ones first, then by value per character, down to the threshold at which the budget is full. */
export function selectRows(fill: FillRows, scores: RowScores, options: SelectOptions): RowSelection {
  const { maxChars } = options;
  const { worth, firstWholePart, tailChars } = requireRows(fill, scores, options);
  const ranges = measureSegments(fill, worth);
  const isKept = new Uint8Array(fill.rows.count);
  const isShown = new Uint8Array(fill.parts.length);

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
      isKept.fill(1, firstRow, endRow);
      return chars;
    }
    if ((ranges.highest[number] ?? 0) < threshold) {
      isKept.fill(0, firstRow, endRow);
      return GAP_CHARS;
    }
    return keepRows(firstRow, endRow, threshold) ?? chars;
  }

  /** Keeps rows of one segment and closes gaps that save next to nothing; undefined when no gap is left. */
  function keepRows(firstRow: number, endRow: number, threshold: number): number | undefined {
    let isWhole = true;
    let chars = 0;
    let gapChars = 0;
    let gapStart = firstRow;
    for (let row = firstRow; row <= endRow; row++) {
      if (row < endRow && (worth[row] ?? 0) < threshold) {
        gapChars += fill.rows.chars[row] ?? 0;
        continue;
      }
      const isClosed = gapChars <= FILL_SHARES.closedGapChars;
      for (let left = gapStart; left < row; left++) isKept[left] = isClosed ? 1 : 0;
      chars += isClosed ? gapChars : GAP_CHARS;
      if (!isClosed) isWhole = false;
      if (row === endRow) break;
      isKept[row] = 1;
      chars += fill.rows.chars[row] ?? 0;
      gapStart = row + 1;
      gapChars = 0;
    }
    return isWhole ? undefined : chars;
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
  keepFrom(Math.exp(fits));
  return { isKept, isShown, firstWholePart };
}

interface SelectOptions {
  readonly maxChars: number;
  readonly render: (message: Message) => string;
  /** Tools whose results stay whole; a name matches when it contains one of these. */
  readonly neverCutTools: readonly string[];
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
function measureSegments({ segments, rows }: FillRows, worth: Float64Array) {
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
    chars[number] = wholeChars(rows, segment);
    lowest[number] = low;
    highest[number] = high;
  }
  return { chars, lowest, highest };
}

/** The value of rows after what must be kept and what is preferred. */
interface RequiredRows {
  /** Per row: its value per character within this budget; infinite when it must be kept. */
  readonly worth: Float64Array;
  /** Parts from here on stay as they are, and take this much. */
  readonly firstWholePart: number;
  readonly tailChars: number;
}

/** Requires the newest messages and what users said; prefers the newest work. */
export function requireRows(fill: FillRows, scores: RowScores, options: SelectOptions): RequiredRows {
  const tail = wholeTail(fill, options);
  const worth = scores.density.slice();
  const wordsChars = requireWords(fill, worth, { ...tail, ...options });
  const roomChars = FILL_SHARES.recent * options.maxChars - tail.tailChars - wordsChars;
  const required = { worth, ...tail };
  preferRecent(fill, scores, { ...required, roomChars });
  return required;
}

type Tail = Pick<RequiredRows, "firstWholePart" | "tailChars">;

function wholeTail({ messages, parts }: FillRows, { maxChars, render }: SelectOptions): Tail {
  let tailChars = 0;
  let firstMessage = messages.length;
  for (; firstMessage > 0; firstMessage--) {
    const chars = render(messages[firstMessage - 1] as Message).length;
    if (tailChars + chars > FILL_SHARES.tail * maxChars) break;
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
    let leftChars = chars > roomChars ? roomChars / 2 : chars;
    roomChars -= leftChars;
    leftChars -= part.headChars;
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

/** Output of searches and programs is often long and seldom needed whole; what was removed is needed least. */
const NEVER_RECENT: ReadonlySet<FillSource> = new Set(["search", "output", "removed"]);

/** Raises the value of the newest work, from the newest to the oldest, within its share. */
function preferRecent(
  fill: FillRows,
  { isRepeated }: RowScores,
  { worth, firstWholePart, ...room }: RequiredRows & { readonly roomChars: number },
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
      const factor = Math.exp(isLong ? FILL_WEIGHTS.recentLong : FILL_WEIGHTS.recent);
      for (let row = firstRow; row < endRow; row++)
        if (isRepeated[row] === 0) worth[row] = (worth[row] ?? 0) * factor;
      if (!isLong) roomChars -= chars;
    }
  }
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
