import { safeJson } from "../../text/safe-json.ts";
import type { FilePart, ToolOutcome } from "../../transcript/part.ts";
import type { Block, ItemContent } from "../blocks/block-adapter.ts";
import { type ResultShape, readResultContent } from "../blocks/result-content.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import { type AiSdkMessage, contentOf } from "./ai-sdk-message.ts";

/** A message as blocks; a message of tool results counts as the user's, as it does for every provider. */
export function readAiSdkMessage(message: AiSdkMessage): ItemContent<Fields> {
  const role = stringField(fields(message).role) ?? "unknown";
  const blocks = contentOf(message).map((part) => readPart(part, role));
  return { role: role === "tool" ? "user" : role, blocks };
}

/** What became of a call, from the output of its result. */
export function readOutput(output: unknown): ToolOutcome {
  const { type, value, reason } = fields(output);
  switch (type) {
    case "error-text":
    case "error-json":
      return { status: "failed", error: textOf(value) };
    case "execution-denied":
      return { status: "failed", error: stringField(reason) ?? DENIED };
    case "content":
      return { status: "done", ...readResultContent(value, RESULT_SHAPE) };
    default:
      return { status: "done", output: textOf(type === undefined ? output : value), attachments: [] };
  }
}

/** How an output of several texts and files is written. */
export const RESULT_SHAPE: ResultShape = { textType: "text", readFile: (entry) => readFile(fields(entry)) };

/** A file, an image or anything else that is no text, as far as a transcript knows it. */
export function readFile(part: Fields): FilePart {
  return compact({
    type: "file" as const,
    mime: stringField(part.mediaType) ?? (part.type === "image" ? "image/*" : "application/octet-stream"),
    filename: stringField(part.filename),
    sizeBytes: sizeOf(part.data ?? part.image),
  });
}

/** What the AI SDK itself tells a model about a call that was not allowed. */
const DENIED = "Tool execution denied.";

function readPart(value: Fields, role: string): Block<Fields> {
  switch (value.type) {
    case "text":
      if (typeof value.text !== "string") break;
      return { type: "part", value, part: { type: "text", text: value.text } };
    case "reasoning":
      if (typeof value.text !== "string") break;
      return { type: "part", value, part: { type: "reasoning", text: value.text } };
    case "file":
    case "image":
      return { type: "part", value, part: readFile(value) };
    case "tool-call":
      if (value.providerExecuted === true || typeof value.toolCallId !== "string") break;
      return {
        type: "call",
        value,
        callId: value.toolCallId,
        tool: stringField(value.toolName) ?? "unknown",
        input: value.input,
      };
    case "tool-result":
      // What a provider executed itself stands in the answer, where only the provider can read it.
      if (role !== "tool" || typeof value.toolCallId !== "string") break;
      return compact({
        type: "result" as const,
        value,
        callId: value.toolCallId,
        tool: stringField(value.toolName),
        outcome: readOutput(value.output),
      });
    default:
      break;
  }
  return { type: "part", value, part: { type: "opaque", name: stringField(value.type) ?? "unknown" } };
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : safeJson(value);
}

function sizeOf(data: unknown): number | undefined {
  if (typeof data === "string") return URL_START.test(data) ? undefined : Math.floor((data.length * 3) / 4);
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) return data.byteLength;
  const { type, data: inner, text } = fields(data);
  if (type === "data") return sizeOf(inner);
  return type === "text" ? stringField(text)?.length : undefined;
}

const URL_START = /^https?:/;
