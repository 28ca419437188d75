import type { FilePart, Part, ToolPart } from "../../transcript/part.ts";
import type { Block, ItemContent } from "../blocks/block-adapter.ts";
import { filePart } from "../blocks/file-part.ts";
import { type ResultShape, readResultContent } from "../blocks/result-content.ts";
import { safeCallId } from "../blocks/safe-call-id.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import { type AnthropicMessage, contentOf } from "./anthropic-wire.ts";

/** Reads one message, or the system text. */
export function readAnthropicMessage(message: AnthropicMessage): ItemContent<Fields> {
  const { role, content } = fields(message);
  return {
    role: stringField(role) ?? "unknown",
    blocks: contentOf(content).map((block) => readBlock(fields(block))),
  };
}

function readBlock(value: Fields): Block<Fields> {
  switch (value.type) {
    case "text":
      return typeof value.text === "string"
        ? readPart(value, { type: "text", text: value.text })
        : opaque(value);
    case "thinking":
      return {
        ...readPart(value, { type: "reasoning", text: stringField(value.thinking) ?? "" }),
        ...unmarked(value),
      };
    case "redacted_thinking":
      return { ...readPart(value, { type: "reasoning", text: "" }), ...unmarked(value) };
    case "tool_use":
      return readCall(value);
    case "tool_result":
      return readResult(value);
    case "image":
    case "document":
      return readPart(value, readFile(value));
    default:
      return opaque(value);
  }
}

function readPart(value: Fields, part: Exclude<Part, ToolPart>): Block<Fields> {
  return { type: "part", part, value };
}

function opaque(value: Fields): Block<Fields> {
  return readPart(value, { type: "opaque", name: stringField(value.type) ?? "unknown" });
}

/** No cache mark may stand on thinking. */
function unmarked(value: Fields): { readonly mended?: Fields } {
  if (value.cache_control === undefined || value.cache_control === null) return {};
  const { cache_control: _, ...mended } = value;
  return { mended };
}

function readCall(value: Fields): Block<Fields> {
  const id = stringField(value.id);
  return compact({
    type: "call" as const,
    callId: id,
    tool: stringField(value.name) ?? "unknown",
    input: value.input ?? {},
    value,
    mended: id === undefined || safeCallId(id) === id ? undefined : { ...value, id: safeCallId(id) },
  }) as Block<Fields>;
}

function readResult(value: Fields): Block<Fields> {
  const id = stringField(value.tool_use_id);
  const { output, attachments } = readResultContent(value.content, ANTHROPIC_RESULT);
  const mended = { ...value, ...mendId(id), ...mendContent(value.content) };
  const isMended = mended.tool_use_id !== value.tool_use_id || mended.content !== value.content;
  return compact({
    type: "result" as const,
    callId: id,
    outcome:
      value.is_error === true
        ? { status: "failed" as const, error: output }
        : { status: "done" as const, output, attachments },
    value,
    mended: isMended ? mended : undefined,
  }) as Block<Fields>;
}

function mendId(id: string | undefined): Fields {
  return id === undefined || safeCallId(id) === id ? {} : { tool_use_id: safeCallId(id) };
}

function mendContent(content: unknown): Fields {
  if (!Array.isArray(content) || !content.some(isBlank)) return {};
  const rest = content.filter((block) => !isBlank(block));
  return { content: rest.length === 0 ? "" : rest };
}

function isBlank(block: unknown): boolean {
  const { type, text } = fields(block);
  return type === "text" && typeof text === "string" && text.trim() === "";
}

function readFile(block: unknown): FilePart {
  const { type, source, title } = fields(block);
  const { media_type: mime, data, url } = fields(source);
  const isText = fields(source).type === "text";
  return filePart({
    mime:
      stringField(mime) ??
      (type === "image" ? "image/*" : type === "document" ? "application/pdf" : undefined),
    filename: stringField(title) ?? (source === undefined ? stringField(type) : undefined),
    base64: isText ? undefined : stringField(data),
    url: stringField(url),
  });
}

/** How a tool result writes its content. */
export const ANTHROPIC_RESULT: ResultShape = { textType: "text", readFile };
