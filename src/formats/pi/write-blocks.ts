import { outcomeText, type Part, type ToolPart } from "../../transcript/part.ts";
import { writeResultContent } from "../blocks/result-content.ts";
import { textFor } from "../blocks/write-text.ts";
import { type Fields, fields } from "../fields.ts";
import { type NextPiece, type Piece, type ResultPiece, resultPart } from "../transcript-file/piece.ts";
import { RESULT_SHAPE } from "./read-blocks.ts";

/** The content of a message with other pieces: a text stays a text, unchanged blocks are the same references. */
export function writeBlocks(content: unknown, pieces: readonly NextPiece[]): unknown {
  const [only] = pieces;
  if (typeof content === "string" && pieces.length === 1 && only !== undefined) {
    const { now } = only;
    if (now.half === "whole" && now.part.type === "text") return now.part.text;
  }
  const blocks = Array.isArray(content) ? content : [];
  return pieces.map(({ index, was, now }) => {
    const block: unknown = blocks[index];
    return now === was && block !== undefined ? block : writeBlock(now, was, fields(block));
  });
}

function writeBlock(now: Piece, was: Piece, block: Fields): Fields {
  if (now.half === "call" && was.half === "call") {
    return { ...block, name: now.part.tool, arguments: now.part.input };
  }
  if (now.half === "result") return { type: "text", text: outcomeText(now.outcome) };
  const isSameType = was.half === "whole" && was.part.type === now.part.type;
  if (now.part.type === "text" && isSameType) return { ...block, type: "text", text: now.part.text };
  return newBlock(now.part);
}

/** A block for a part that no line held. */
export function newBlock(part: Part): Fields {
  if (part.type === "reasoning") return { type: "thinking", thinking: part.text };
  if (part.type === "tool") return newCall(part);
  return { type: "text", text: textFor(part) ?? "" };
}

function newCall({ callId, tool, input }: ToolPart): Fields {
  return { type: "toolCall", id: callId, name: tool, arguments: input ?? {} };
}

/** A `toolResult` message with another outcome; its images stay unless the edit left them out. */
export function changedResult(message: Fields, now: ResultPiece, was: ResultPiece): Fields {
  // What the agent keeps beside the text for its own screen says the output again.
  const { details: _, ...rest } = message;
  const before = resultPart(was);
  const content = writeResultContent(resultPart(now), {
    before,
    content: message.content,
    shape: RESULT_SHAPE,
  });
  return {
    ...rest,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    isError: now.outcome.status === "failed",
  };
}

/** A `toolResult` message for a call that had none. */
export function newResult({ callId, tool, outcome }: ResultPiece, at: number): Fields {
  return {
    role: "toolResult",
    toolCallId: callId,
    toolName: tool ?? "unknown",
    content: [{ type: "text", text: outcomeText(outcome) }],
    isError: outcome.status === "failed",
    timestamp: at,
  };
}
