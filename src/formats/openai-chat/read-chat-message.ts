import type { FilePart } from "../../transcript/part.ts";
import type { Block, CallBlock, ItemContent, ResultBlock } from "../blocks/block-adapter.ts";
import { isArguments, readArguments, writeArguments } from "../blocks/call-arguments.ts";
import { filePart } from "../blocks/file-part.ts";
import { type ResultShape, readResultContent } from "../blocks/result-content.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import type { ChatMessage } from "./openai-chat-wire.ts";

/** A block of a chat message, by the field it stands in. */
export type ChatValue =
  | { readonly in: "content"; readonly block: Fields }
  | { readonly in: "reasoning"; readonly fields: Fields }
  | { readonly in: "tool_calls"; readonly call: Fields }
  | { readonly in: "function_call"; readonly call: Fields }
  | { readonly in: "refusal"; readonly wire: unknown }
  | { readonly in: "audio"; readonly wire: unknown }
  | { readonly in: "result"; readonly message: Fields };

/** The fields in which vendors tell a turn's reasoning; they belong together. */
export const REASONING_FIELDS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_details"];

/** Reads one message; a result is the user's, since a model answers it. */
export function readChatMessage(item: ChatMessage): ItemContent<ChatValue> {
  const message = fields(item);
  const role = stringField(message.role) ?? "unknown";
  if (role === "tool" || role === "function") return { role: "user", blocks: [readResult(message)] };
  const calls = readCalls(message);
  const blocks = [...readReasoning(message), ...readContent(message, calls.length > 0)];
  if (stringField(message.refusal)) blocks.push(readField("refusal", message.refusal));
  if (typeof message.audio === "object" && message.audio !== null)
    blocks.push(readField("audio", message.audio));
  return { role: role === "developer" ? "system" : role, blocks: [...blocks, ...calls] };
}

function readReasoning(message: Fields): Block<ChatValue>[] {
  const told = REASONING_FIELDS.filter((name) => isTold(message[name]));
  if (told.length === 0) return [];
  const text = told.map((name) => stringField(message[name])).find((value) => value !== undefined);
  const value = {
    in: "reasoning" as const,
    fields: Object.fromEntries(told.map((name) => [name, message[name]])),
  };
  return [{ type: "part", part: { type: "reasoning", text: text ?? "" }, value }];
}

function isTold(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : typeof value === "string" && value !== "";
}

function readContent({ content }: Fields, hasCalls: boolean): Block<ChatValue>[] {
  // Clients write an empty text beside calls, and mean none.
  if (content === "" && hasCalls) return [];
  if (typeof content === "string") return [readContentBlock({ type: "text", text: content })];
  return Array.isArray(content) ? content.map((block) => readContentBlock(fields(block))) : [];
}

function readContentBlock(block: Fields): Block<ChatValue> {
  const value = { in: "content" as const, block };
  if (block.type === "text" && typeof block.text === "string")
    return { type: "part", part: { type: "text", text: block.text }, value };
  if (MEDIA.includes(block.type)) return { type: "part", part: readFile(block), value };
  return { type: "part", part: { type: "opaque", name: stringField(block.type) ?? "unknown" }, value };
}

const MEDIA: readonly unknown[] = ["image_url", "input_audio", "file"];

function readFile(value: unknown): FilePart {
  const { type, image_url: image, input_audio: audio, file } = fields(value);
  const { filename, file_data: data } = fields(file);
  const { format } = fields(audio);
  return filePart({
    mime: typeof format === "string" ? `audio/${format}` : undefined,
    filename: stringField(filename) ?? (MEDIA.includes(type) ? undefined : stringField(type)),
    url: stringField(fields(image).url) ?? stringField(data),
    base64: stringField(fields(audio).data),
  });
}

/** How a chat message writes the content of a result. */
export const CHAT_RESULT: ResultShape = { textType: "text", readFile };

function readField(name: "refusal" | "audio", wire: unknown): Block<ChatValue> {
  return { type: "part", part: { type: "opaque", name }, value: { in: name, wire } };
}

function readCalls({ tool_calls: calls, function_call: legacy }: Fields): readonly Block<ChatValue>[] {
  if (Array.isArray(calls)) return calls.map((call) => readCall(fields(call)));
  if (typeof legacy !== "object" || legacy === null) return [];
  const call = fields(legacy);
  const value = { in: "function_call" as const, call };
  return [{ type: "call", tool: toolOf(call), input: readArguments(call.arguments), value }];
}

function readCall(call: Fields): CallBlock<ChatValue> {
  const { id, function: called, custom } = call;
  const value = { in: "tool_calls" as const, call };
  const tool = toolOf(fields(called ?? custom));
  if (called === undefined && custom !== undefined) {
    return compact({
      type: "call" as const,
      callId: stringField(id),
      tool,
      input: fields(custom).input,
      value,
    }) as CallBlock<ChatValue>;
  }
  const { arguments: text } = fields(called);
  const input = readArguments(text);
  const mended = { ...call, function: { ...fields(called), arguments: writeArguments(input) } };
  return compact({
    type: "call" as const,
    callId: stringField(id),
    tool,
    input,
    value,
    mended: isArguments(text) ? undefined : { in: "tool_calls" as const, call: mended },
  }) as CallBlock<ChatValue>;
}

function toolOf({ name }: Fields): string {
  return stringField(name) ?? "unknown";
}

function readResult(message: Fields): ResultBlock<ChatValue> {
  return compact({
    type: "result" as const,
    callId: stringField(message.tool_call_id),
    tool: stringField(message.name),
    outcome: { status: "done" as const, ...readResultContent(message.content, CHAT_RESULT) },
    value: { in: "result" as const, message },
  }) as ResultBlock<ChatValue>;
}
