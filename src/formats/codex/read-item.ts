import type { FilePart, Part, ToolOutcome } from "../../transcript/part.ts";
import { filePart } from "../blocks/file-part.ts";
import { type ResultShape, readResultContent } from "../blocks/result-content.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { jsonOrText } from "../json-or-text.ts";
import type { Piece } from "../transcript-file/piece.ts";

/** The pieces of an item; one that is not understood is a single opaque part. */
export function readItem(item: Fields): readonly Piece[] {
  const callId = stringField(item.call_id);
  switch (item.type) {
    case "message":
      return readContent(item.content).map(whole);
    case "reasoning":
      return [whole({ type: "reasoning", text: reasoningText(item) })];
    case "function_call":
      return callId === undefined ? [opaque(item)] : [callPiece(item, callId, jsonOrText(item.arguments))];
    case "custom_tool_call":
      return callId === undefined ? [opaque(item)] : [callPiece(item, callId, item.input)];
    case "local_shell_call":
      return callId === undefined
        ? [opaque(item)]
        : [callPiece({ name: "local_shell" }, callId, item.action)];
    case "function_call_output":
    case "custom_tool_call_output":
      return callId === undefined
        ? [opaque(item)]
        : [{ half: "result", callId, outcome: readOutcome(item.output) }];
    default:
      return [opaque(item)];
  }
}

/** The parts of a message's content. */
export function readContent(content: unknown): readonly Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map((block) => readBlock(fields(block))) : [];
}

function readBlock(block: Fields): Part {
  const { type, text } = block;
  const isText = type === "input_text" || type === "output_text" || type === "text";
  if (isText && typeof text === "string") return { type: "text", text };
  if (type === "input_image") return readFile(block);
  return { type: "opaque", name: stringField(type) ?? "unknown" };
}

function readFile(block: unknown): FilePart {
  const { image_url, type } = fields(block);
  return filePart({
    mime: type === "input_image" ? undefined : "application/octet-stream",
    url: stringField(image_url),
  });
}

/** How an output holds what the tool gave. */
export const OUTPUT_SHAPE: ResultShape = { textType: "input_text", readFile };

function readOutcome(value: unknown): ToolOutcome {
  // Old rollouts kept the text beside whether it went well.
  const { content, success } = fields(value);
  const isWrapped = typeof content === "string";
  const { output, attachments } = readResultContent(isWrapped ? content : value, OUTPUT_SHAPE);
  return isWrapped && success === false
    ? { status: "failed", error: output }
    : { status: "done", output, attachments };
}

function reasoningText({ summary, content }: Fields): string {
  return [summary, content]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((each: unknown) => stringField(fields(each).text) ?? [])
    .join("\n\n");
}

function callPiece(item: Fields, callId: string, input: unknown): Piece {
  const tool = stringField(item.name) ?? "unknown";
  return { half: "call", part: { type: "tool", callId, tool, input, outcome: { status: "pending" } } };
}

function opaque({ type }: Fields): Piece {
  return whole({ type: "opaque", name: stringField(type) ?? "unknown" });
}

function whole(part: Part): Piece {
  return { half: "whole", part };
}
