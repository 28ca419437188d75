import { countCodePoints, cutCodePoints } from "./summary-cut-code-points.ts";
import { element, omissionNote } from "./summary-prompt.ts";
import { type SummaryBlock, upperTokens } from "./summary-serialize.ts";

/** The newest blocks that fit; the oldest are left out whole, and what still does not fit is cut. */
export function quoteBlocks(quotable: Quotable, roomTokens: number): Quoted {
  const { blocks, turnBlocks, firstRequest } = quotable;
  const all = [...blocks, ...turnBlocks];
  if (roomTokens < MIN_QUOTE_TOKENS || all.length === 0) return { texts: [], omittedMessages: all.length };
  const totalTokens = all.reduce((sum, block) => sum + block.maxTokens + 1, 0);
  const isWhole = totalTokens <= roomTokens && quotable.skippedMessages === 0;
  // The first request is worth its place even when everything around it has to go.
  const opening = isWhole || firstRequest === undefined ? "" : clipTokens(firstRequest.text, roomTokens / 8);
  let leftTokens = isWhole ? roomTokens : roomTokens - upperTokens(opening) - NOTE_TOKENS;
  // One message must not push out all that came before it.
  const mostTokens = isWhole ? roomTokens : leftTokens / Math.min(4, all.length) - 1;
  const texts = all.map(({ text, maxTokens }) =>
    maxTokens <= mostTokens ? text : clipTokens(text, mostTokens),
  );
  let firstKept = all.length;
  while (firstKept > 0) {
    const tokens = Math.min(mostTokens, (all[firstKept - 1] as SummaryBlock).maxTokens) + 1;
    if (tokens > leftTokens) break;
    leftTokens -= tokens;
    firstKept--;
  }
  const omitted = all.slice(0, firstKept);
  const omittedMessages = omitted.length + quotable.skippedMessages;
  const omittedChars = omitted.reduce((sum, block) => sum + block.text.length, quotable.skippedChars);
  const isOpeningLost = !all.slice(firstKept).some((block) => block.messageId === firstRequest?.messageId);
  const head = [
    ...(isOpeningLost && opening !== "" ? [opening] : []),
    ...(omittedMessages > 0 ? [omissionNote(omittedMessages, omittedChars)] : []),
  ];
  const older = [...head, ...texts.slice(firstKept, Math.max(firstKept, blocks.length))];
  const turn = texts.slice(Math.max(firstKept, blocks.length));
  return {
    texts: [
      ...(older.length > 0 ? [element("conversation", older.join("\n\n"))] : []),
      ...(turn.length > 0 ? [element("current_turn", turn.join("\n\n"))] : []),
    ],
    omittedMessages,
  };
}

/** The conversation, oldest block first, and the request it began with. */
export interface Quotable {
  /** What came before the current turn. */
  readonly blocks: readonly SummaryBlock[];
  /** The beginning of a turn whose end stays; empty when the cut falls between turns. */
  readonly turnBlocks: readonly SummaryBlock[];
  /** What the conversation began with, shown when its message had to be left out. */
  readonly firstRequest?: SummaryBlock;
  /** Older messages that were not even read, for there are too many. */
  readonly skippedMessages: number;
  readonly skippedChars: number;
}

/** Elements with quotes in them; none when there is no room. */
export interface Quoted {
  readonly texts: readonly string[];
  readonly omittedMessages: number;
}

const MIN_QUOTE_TOKENS = 100;
const NOTE_TOKENS = 40;

/** A text cut to a number of tokens by the upper estimate; empty when not even a little of it fits. */
export function clipTokens(text: string, maxTokens: number): string {
  let clipped = text;
  let points = countCodePoints(text);
  for (let tokens = upperTokens(clipped); tokens > maxTokens; tokens = upperTokens(clipped)) {
    points = Math.floor(points * Math.min(0.9, maxTokens / tokens)) - MARKER_POINTS;
    if (points < 1) return "";
    clipped = cutCodePoints(text, points);
  }
  return clipped;
}

/** Room for the marker that a cut leaves. */
const MARKER_POINTS = 48;
