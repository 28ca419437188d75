import type { FilePart, ToolOutcome } from "../../transcript/part.ts";
import { filePart } from "../blocks/file-part.ts";
import { type ResultShape, readResultContent } from "../blocks/result-content.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import type { Piece, ResultPiece } from "../transcript-file/piece.ts";

/** The pieces of a message's content: a plain text, or a list of blocks. */
export function readBlocks(content: unknown): readonly Piece[] {
  if (typeof content === "string") return [{ half: "whole", part: { type: "text", text: content } }];
  return Array.isArray(content) ? content.map((block) => readBlock(fields(block))) : [];
}

function readBlock(block: Fields): Piece {
  const { type, text, thinking } = block;
  if (type === "text" && typeof text === "string") return { half: "whole", part: { type, text } };
  if (type === "thinking" && typeof thinking === "string") {
    return { half: "whole", part: { type: "reasoning", text: thinking } };
  }
  if (type === "toolCall" && typeof block.id === "string") {
    const tool = stringField(block.name) ?? "unknown";
    const { id, arguments: input } = block;
    return { half: "call", part: { type: "tool", callId: id, tool, input, outcome: { status: "pending" } } };
  }
  if (type === "image") return { half: "whole", part: readImage(block) };
  return { half: "whole", part: { type: "opaque", name: stringField(type) ?? "unknown" } };
}

/** The result that a `toolResult` message is. */
export function readResult(message: Fields): ResultPiece {
  return compact({
    half: "result" as const,
    callId: stringField(message.toolCallId) ?? "",
    tool: stringField(message.toolName),
    outcome: readOutcome(message),
  });
}

function readOutcome({ content, isError }: Fields): ToolOutcome {
  const { output, attachments } = readResultContent(content, RESULT_SHAPE);
  return isError === true ? { status: "failed", error: output } : { status: "done", output, attachments };
}

function readImage(block: unknown): FilePart {
  const { mimeType, data } = fields(block);
  return filePart({ mime: stringField(mimeType), base64: stringField(data) });
}

/** How a `toolResult` message holds what the tool gave. */
export const RESULT_SHAPE: ResultShape = { textType: "text", readFile: readImage };
