import type { Message } from "../../transcript/message.ts";
import type { FillPart, FillRows, FillSegment } from "./fill-rows.ts";
import { FILL_SHARES } from "./fill-weights.ts";
import type { RowScores } from "./score-rows.ts";
import { charsOfRow } from "./split-rows.ts";

/** What stays whatever it is worth, and what is preferred. */
export interface RequiredRows {
  /** Per row: 1 when it must stay. */
  readonly isRequired: Uint8Array;
  /** Per row: 1 when it belongs to the newest work and is not shown again. */
  readonly isRecent: Uint8Array;
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
  const isRequired = new Uint8Array(fill.rows.length);
  const wordsChars = requireWords({ fill, isRequired, ...tail, ...options });
  const roomChars = FILL_SHARES.recent * options.maxChars - tail.tailChars - wordsChars;
  const isRecent = recentRows({ fill, scores, isRequired, roomChars, ...tail, ...options });
  return { isRequired, isRecent, ...tail };
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
  readonly isRequired: Uint8Array;
}

/** Summaries, the first request, then everything that users said, newest first, as far as its share goes. */
function requireWords({ fill, isRequired, firstWholePart, maxChars, neverCutTools }: WordsInput): number {
  const shareChars = FILL_SHARES.words * maxChars;
  let usedChars = 0;
  const require = (part: FillPart, limitChars: number): void => {
    const chars = charsOfPart(fill, part);
    if (chars > limitChars) return;
    usedChars += chars;
    for (let segment = part.firstSegment; segment < part.endSegment; segment++) {
      const { firstRow, endRow } = fill.segments[segment] as FillSegment;
      isRequired.fill(1, firstRow, endRow);
    }
  };
  const said = fill.parts.slice(0, firstWholePart).filter((part) => isSaid(fill, part, neverCutTools));
  const first = said.filter((part, index) => index === 0 || part.message.summary);
  for (const part of first) require(part, shareChars - usedChars);
  for (const part of said.toReversed()) if (!first.includes(part)) require(part, shareChars - usedChars);
  return usedChars;
}

function isSaid(
  fill: FillRows,
  { part, message, firstSegment }: FillPart,
  neverCutTools: readonly string[],
): boolean {
  if (part.type === "tool") return neverCutTools.some((name) => part.tool.includes(name));
  return message.summary === true || fill.segments[firstSegment]?.source === "user";
}

interface RecentInput extends WordsInput {
  readonly scores: RowScores;
  readonly roomChars: number;
}

function recentRows(input: RecentInput): Uint8Array {
  const { fill, scores, isRequired, firstWholePart, maxChars } = input;
  const isRecent = new Uint8Array(fill.rows.length);
  let roomChars = input.roomChars;
  for (let number = firstWholePart - 1; number >= 0 && roomChars > 0; number--) {
    const part = fill.parts[number] as FillPart;
    roomChars -= part.headChars;
    for (let segment = part.endSegment - 1; segment >= part.firstSegment; segment--) {
      const { source, firstRow, endRow } = fill.segments[segment] as FillSegment;
      // What a search or a program printed is seldom needed whole, and often long.
      if (source === "search" || source === "output") continue;
      let chars = 0;
      for (let row = firstRow; row < endRow; row++)
        if (scores.isRepeated[row] === 0 && isRequired[row] === 0) chars += charsOfRowAt(fill, row);
      if (chars > FILL_SHARES.longSegment * maxChars || chars > roomChars) continue;
      for (let row = firstRow; row < endRow; row++) if (scores.isRepeated[row] === 0) isRecent[row] = 1;
      roomChars -= chars;
    }
  }
  return isRecent;
}

function charsOfPart(fill: FillRows, { headChars, firstSegment, endSegment }: FillPart): number {
  let chars = headChars;
  for (let segment = firstSegment; segment < endSegment; segment++) {
    const { source, firstRow, endRow } = fill.segments[segment] as FillSegment;
    if (source === "call") continue;
    for (let row = firstRow; row < endRow; row++) chars += charsOfRowAt(fill, row);
  }
  return chars;
}

function charsOfRowAt({ rows }: FillRows, row: number): number {
  const found = rows[row];
  return found === undefined ? 0 : charsOfRow(found);
}
