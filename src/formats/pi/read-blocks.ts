import type { FilePart, ToolOutcome } from "../../transcript/part.ts";
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
  const blocks = Array.isArray(content) ? content.map(fields) : [];
  const text =
    typeof content === "string" ? content : blocks.flatMap((block) => stringField(block.text) ?? []).join("\n");
  if (isError === true) return { status: "failed", error: text };
  const attachments = blocks.flatMap((block) => (block.type === "image" ? [readImage(block)] : []));
  return { status: "done", output: text, attachments };
}

function readImage({ mimeType, data }: Fields): FilePart {
  return compact({
    type: "file" as const,
    mime: stringField(mimeType) ?? "image/png",
    sizeBytes: typeof data === "string" ? Math.floor((data.length * 3) / 4) : undefined,
  });
}
