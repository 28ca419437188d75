import type { Message, Transcript } from "../transcript/message.ts";
import { charsOf } from "../transcript/size.ts";
import { typedText } from "./plan-compaction-requests.ts";
import type { TextCleaner } from "./summary-clean-text.ts";
import { type Piece, piecesOf } from "./summary-pieces.ts";

/** What was read of some messages: everything of the newest, of the older ones only what the user typed. */
export interface ReadMessages {
  readonly pieces: readonly Piece[];
  /** The newest pieces, those that a summarizer could be shown. */
  readonly newestPieces: readonly Piece[];
  readonly skippedMessages: number;
  readonly skippedChars: number;
}

/** Reads messages up to a number of characters, so that a history of hundreds of megabytes costs no more than a window. */
export function readMessages(messages: Transcript, cleaner: TextCleaner): ReadMessages {
  let readChars = 0;
  let start = messages.length;
  while (start > 0) {
    const chars = charsOf(messages[start - 1] as Message);
    if (readChars > 0 && readChars + chars > MAX_READ_CHARS) break;
    readChars += chars;
    start--;
  }
  const skipped = messages.slice(0, start);
  const newestPieces = piecesOf(messages.slice(start), cleaner);
  const typed = skipped.filter((message) => typedText(message) !== "");
  return {
    pieces: [...piecesOf(typed, cleaner), ...newestPieces],
    newestPieces,
    skippedMessages: skipped.length,
    skippedChars: skipped.reduce((sum, message) => sum + charsOf(message), 0),
  };
}

/** About a million tokens: more than any summarizer reads. */
const MAX_READ_CHARS = 4_000_000;
