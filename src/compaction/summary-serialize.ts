import { estimateInterval, estimateTokens } from "../text/estimate-tokens.ts";
import type { MessageId } from "../transcript/message.ts";
import { fenceQuote } from "./summary-clean-text.ts";
import { cutCodePoints } from "./summary-cut-code-points.ts";
import type { Piece } from "./summary-pieces.ts";

/** One message as labelled text, quoted so that no model takes it for a conversation to go on with. */
export interface SummaryBlock {
  readonly messageId: MessageId;
  readonly text: string;
  /** At most so many tokens, with the estimate's error on the safe side. */
  readonly maxTokens: number;
}

/** A block a message, in order; messages with nothing to read have none. */
export function serializePieces(pieces: readonly Piece[]): readonly SummaryBlock[] {
  const texts = new Map<MessageId, string>();
  for (const piece of pieces) {
    const before = texts.get(piece.message.id);
    const text = serializePiece(piece);
    texts.set(piece.message.id, before === undefined ? text : `${before}\n${text}`);
  }
  return Array.from(texts, ([messageId, text]) => ({ messageId, text, maxTokens: upperTokens(text) }));
}

/** A number of tokens that a text does not exceed in 95 of 100 cases, by either estimate. */
export function upperTokens(text: string): number {
  const calibrated = estimateTokens(text, { estimator: "calibrated", rounding: "ceil" });
  const documented = estimateTokens(text, { rounding: "ceil" });
  return Math.max(documented, Math.ceil(calibrated * estimateInterval("calibrated").high));
}

/** How much of a tool's input or output a summary is made from, in code points. */
export const SUMMARY_RESULT_POINTS = 1_800;

function serializePiece(piece: Piece): string {
  const quoted = fenceQuote(piece.text);
  const name = fenceQuote(piece.tool ?? "");
  switch (piece.type) {
    case "typed":
      return `[User]: ${quoted}`;
    case "program":
      return `[Program, in the user's name]: ${quoted}`;
    case "assistant":
      return `[Assistant]: ${quoted}`;
    case "tool-summary":
      return `[Summary of earlier tool results]: ${quoted}`;
    case "other":
      return `[Other]: ${quoted}`;
    case "input":
      return `[Assistant calls ${name}]: ${cutCodePoints(quoted, SUMMARY_RESULT_POINTS)}`;
    case "output":
      return `[Result of ${name}]: ${cutCodePoints(quoted, SUMMARY_RESULT_POINTS)}`;
    case "error":
      return `[Error of ${name}]: ${cutCodePoints(quoted, SUMMARY_RESULT_POINTS)}`;
    case "no-result":
      return `[Result of ${name}]: (none yet)`;
    case "file":
      return `[File: ${quoted}]`;
    default:
      piece.type satisfies never;
      return "";
  }
}
