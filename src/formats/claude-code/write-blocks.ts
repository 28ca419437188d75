import type { Message } from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import { anthropicAdapter } from "../anthropic/anthropic-adapter.ts";
import { type Fields, fields } from "../fields.ts";
import { type NextPiece, type Piece, type ResultPiece, resultPart } from "../transcript-file/piece.ts";

/** The content of a message with other pieces: a text stays a text, unchanged blocks are the same references. */
export function writeBlocks(content: unknown, pieces: readonly NextPiece[]): unknown {
  const isText = typeof content === "string";
  const [only, ...others] = pieces;
  if (isText && others.length === 0 && only?.now.half === "whole" && only.now.part.type === "text") {
    return only.now.part.text;
  }
  const blocks: readonly unknown[] = isText
    ? [{ type: "text", text: content }]
    : Array.isArray(content)
      ? content
      : [];
  return pieces.flatMap(({ index, was, now }) => {
    const block = blocks[index];
    return now === was && block !== undefined ? [block] : (writeBlock(now, was, fields(block)) ?? []);
  });
}

function writeBlock(now: Piece, was: Piece, block: Fields): Fields | undefined {
  const value = was.half === now.half ? block : undefined;
  if (now.half === "result") {
    if (was.half !== "result") return newResult(now);
    return anthropicAdapter.writeResult(resultPart(now), {
      role: "user",
      before: resultPart(was),
      value: block,
    });
  }
  if (now.part.type === "tool") {
    return value === undefined
      ? newCall(now.part)
      : anthropicAdapter.writeCall(now.part, { role: "assistant", value });
  }
  const isSameType = was.half === "whole" && was.part.type === now.part.type;
  return anthropicAdapter.writePart(now.part, { role: "user", ...(isSameType && value && { value }) });
}

/** The parts of a new message that the API can take. */
export function writableParts({ parts }: Message): readonly Part[] {
  return parts.filter((part) => newBlock(part) !== undefined);
}

/** A block for a part that no line held. */
export function newBlock(part: Part): Fields | undefined {
  return part.type === "tool" ? newCall(part) : anthropicAdapter.writePart(part, { role: "user" });
}

function newCall(part: ToolPart): Fields {
  return { ...anthropicAdapter.writeCall(part, { role: "assistant" }), id: part.callId };
}

/** A block for a result that no line held. */
export function newResult(piece: ResultPiece): Fields {
  return { ...anthropicAdapter.writeResult(resultPart(piece), { role: "user" }), tool_use_id: piece.callId };
}
