import type { Message } from "../../transcript/message.ts";
import type { FillPart, FillRows, FillSegment } from "./fill-rows.ts";
import type { FillSource } from "./fill-source.ts";
import { FILL_SHARES, FILL_WEIGHTS } from "./fill-weights.ts";
import type { RowScores } from "./score-rows.ts";

/** What stays whatever it is worth, and what is preferred. */
export interface RequiredRows {
  /** Per row: its value a character within this budget; infinite when it must stay. */
  readonly worth: Float64Array;
  /** Parts from here on stay as they are, and take this much. */
  readonly firstWholePart: number;
  readonly tailChars: number;
}

export interface RequireOptions {
  readonly maxChars: number;
  readonly render: (message: Message) => string;
  /** Tools whose results stay whole; a name matches when it contains one of these. */
  readonly neverCutTools: readonly string[];
}

/** Requires the newest messages as they are and what was said by users; prefers the newest work. */
export function requireRows(fill: FillRows, scores: RowScores, options: RequireOptions): RequiredRows {
  const tail = wholeTail(fill, options);
  const worth = scores.density.slice();
  const wordsChars = requireWords({ fill, worth, ...tail, ...options });
  const roomChars = FILL_SHARES.recent * options.maxChars - tail.tailChars - wordsChars;
  preferRecent({ fill, scores, worth, roomChars, ...tail, ...options });
  return { worth, ...tail };
}

type Tail = Pick<RequiredRows, "firstWholePart" | "tailChars">;

function wholeTail({ messages, parts }: FillRows, { maxChars, render }: RequireOptions): Tail {
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

interface WordsInput extends Tail, RequireOptions {
  readonly fill: FillRows;
  readonly worth: Float64Array;
}

/**
 * Summaries, the first request, then everything that users said, newest first, as far as its share goes. Of a summary or
 * a first request that is too long the beginning stays.
 */
function requireWords({ fill, worth, firstWholePart, maxChars, neverCutTools }: WordsInput): number {
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

interface RecentInput extends WordsInput {
  readonly scores: RowScores;
  readonly roomChars: number;
}

/** What a search or a program printed is seldom needed whole, and often long; what was removed is needed least. */
const NEVER_RECENT: ReadonlySet<FillSource> = new Set(["search", "output", "removed"]);

/** Raises the newest work, from the newest to the oldest, as far as its share goes. */
function preferRecent(input: RecentInput): void {
  const { fill, scores, worth, firstWholePart } = input;
  let roomChars = input.roomChars;
  for (let number = firstWholePart - 1; number >= 0 && roomChars > 0; number--) {
    const part = fill.parts[number] as FillPart;
    roomChars -= part.headChars;
    for (let segment = part.endSegment - 1; segment >= part.firstSegment; segment--) {
      const { source, firstRow, endRow } = fill.segments[segment] as FillSegment;
      if (NEVER_RECENT.has(source) || worth[firstRow] === Number.POSITIVE_INFINITY) continue;
      let chars = 0;
      for (let row = firstRow; row < endRow; row++)
        if (scores.isRepeated[row] === 0) chars += fill.rows.chars[row] ?? 0;
      const isLong = chars > FILL_SHARES.longText * roomChars;
      const factor = Math.exp(isLong ? FILL_WEIGHTS.recentLong : FILL_WEIGHTS.recent);
      for (let row = firstRow; row < endRow; row++)
        if (scores.isRepeated[row] === 0) worth[row] = (worth[row] ?? 0) * factor;
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
