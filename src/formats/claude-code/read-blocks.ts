import { safeJson } from "../../text/safe-json.ts";
import type { FilePart, Part, ToolOutcome } from "../../transcript/part.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import type { Piece } from "../transcript-file/piece.ts";

/** The pieces of a message's content: a plain text, or a list of blocks. */
export function readBlocks(content: unknown): readonly Piece[] {
  if (typeof content === "string") return [{ half: "whole", part: { type: "text", text: content } }];
  return Array.isArray(content) ? content.map((block) => readBlock(fields(block))) : [];
}

function readBlock(block: Fields): Piece {
  const { type } = block;
  if (type === "tool_use" && typeof block.id === "string") {
    const { id, name, input } = block;
    const tool = stringField(name) ?? "unknown";
    return { half: "call", part: { type: "tool", callId: id, tool, input, outcome: { status: "pending" } } };
  }
  if (type === "tool_result" && typeof block.tool_use_id === "string") {
    return { half: "result", callId: block.tool_use_id, outcome: readOutcome(block) };
  }
  return { half: "whole", part: readPart(block) };
}

function readPart(block: Fields): Part {
  const { type, text, thinking } = block;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "thinking" && typeof thinking === "string") return { type: "reasoning", text: thinking };
  if (type === "image" || type === "document") return readFile(block);
  return { type: "opaque", name: stringField(type) ?? "unknown" };
}

function readOutcome({ content, is_error }: Fields): ToolOutcome {
  const text = resultText(content);
  if (is_error === true) return { status: "failed", error: text };
  const attachments = Array.isArray(content)
    ? content.map(fields).flatMap((block) => (isFile(block) ? [readFile(block)] : []))
    : [];
  return { status: "done", output: text, attachments };
}

function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined || content === null ? "" : safeJson(content);
  return content
    .flatMap((block: unknown) => (typeof block === "string" ? block : (stringField(fields(block).text) ?? [])))
    .join("\n");
}

/** True for a block that is a file rather than text. */
export function isFile(block: Fields): boolean {
  return block.type === "image" || block.type === "document";
}

function readFile(block: Fields): FilePart {
  const { media_type, data } = fields(block.source);
  return compact({
    type: "file" as const,
    mime: stringField(media_type) ?? (block.type === "image" ? "image/png" : "application/octet-stream"),
    filename: stringField(block.title),
    sizeBytes: typeof data === "string" ? Math.floor((data.length * 3) / 4) : undefined,
  });
}
