import type { Transcript } from "../transcript/message.ts";
import { callsOf, type PlainPiece, piecesOf, showWhole } from "./plain-text.ts";
import { unescapeText } from "./unescape-text.ts";

/** A history as one text, with the places where its blocks begin and end. */
export interface HistoryText {
  /** All of it, unescaped. */
  readonly text: string;
  /** Its length as it would be sent. */
  readonly sentChars: number;
  /** In order, without overlap. */
  readonly blocks: readonly HistoryBlock[];
}

/** One label, text, call or result of a history. */
export interface HistoryBlock {
  readonly type: PlainPiece["type"];
  readonly startChar: number;
  readonly endChar: number;
  /** Calls in the messages behind this one's. */
  readonly callsSince: number;
  /** How long the block is before unescaping. */
  readonly sentChars: number;
}

/** The text of a history. Its blocks are unescaped one by one, so that no escape reaches over a border. */
export function historyText(history: Transcript): HistoryText {
  const blocks: HistoryBlock[] = [];
  let callsSince = callsOf(history).length;
  let text = "";
  let sentChars = 0;
  for (const message of history) {
    for (const { type } of message.parts) if (type === "tool") callsSince--;
    for (const [index, piece] of piecesOf(message, showWhole).entries()) {
      if (index > 0) text += "\n";
      const startChar = text.length;
      text += unescapeText(piece.text);
      sentChars += piece.text.length + (index > 0 ? 1 : 0);
      blocks.push({
        type: piece.type,
        startChar,
        endChar: text.length,
        callsSince,
        sentChars: piece.text.length,
      });
    }
  }
  return { text, sentChars, blocks };
}

/** The block that holds a place, or undefined between two. */
export function blockAt({ blocks }: HistoryText, char: number): HistoryBlock | undefined {
  let low = 0;
  let high = blocks.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const block = blocks[middle];
    if (block === undefined) return undefined;
    if (char < block.startChar) high = middle - 1;
    else if (char >= block.endChar) low = middle + 1;
    else return block;
  }
  return undefined;
}
