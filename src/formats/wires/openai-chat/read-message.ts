import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { FilePart } from "../../../transcript/part.ts";
import type { Block, CallBlock, ItemContent, ResultBlock } from "../../blocks/block-adapter.ts";
import { isJsonText, readArguments, writeArguments } from "../../content/call-arguments.ts";
import { filePart, opaquePart } from "../../content/foreign-parts.ts";
import { type ResultShape, readResultContent } from "../../content/result-content.ts";
import { contentBlocks } from "../../content/text-blocks.ts";
import { wireList } from "../../faults/wire-message.ts";

/** Reads one message; a result counts as the user's. */
export function readChatMessage(item: ChatMessage): ItemContent<ChatValue> {
  const message = asObject(item);
  const role = asString(message.role) ?? "unknown";
  if (role === "tool" || role === "function") return { role: "user", blocks: [readResult(message)] };
  const calls = readCalls(message);
  const blocks = [...readReasoning(message), ...readContent(message, calls.length > 0)];
  if (asString(message.refusal)) blocks.push(readField("refusal", message.refusal));
  if (typeof message.audio === "object" && message.audio !== null)
    blocks.push(readField("audio", message.audio));
  return { role: role === "developer" ? "system" : role, blocks: [...blocks, ...calls] };
}

/** A message of a chat completions API. Fields that are not known are kept as they are. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
}

/** A request of that API; everything but the messages is kept. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
}

/** What the chat format reads: a list of messages, or a whole request. */
export type ChatWire = readonly ChatMessage[] | ChatRequest;

/** The messages of a wire. */
export function messagesOf(wire: ChatWire): readonly ChatMessage[] {
  return wireList(wire, "messages") as readonly ChatMessage[];
}

/** A block of a chat message, by the field that holds it. */
export type ChatValue =
  | { readonly in: "content"; readonly block: UnknownObject }
  | { readonly in: "reasoning"; readonly fields: UnknownObject }
  | { readonly in: "tool_calls"; readonly call: UnknownObject }
  | { readonly in: "function_call"; readonly call: UnknownObject }
  | { readonly in: "refusal"; readonly wire: unknown }
  | { readonly in: "audio"; readonly wire: unknown }
  | { readonly in: "result"; readonly message: UnknownObject };

/** The fields in which vendors keep a turn's reasoning; they belong together. */
export const REASONING_FIELDS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_details"];

function readReasoning(message: UnknownObject): Block<ChatValue>[] {
  const filled = REASONING_FIELDS.filter((name) => isFilled(message[name]));
  if (filled.length === 0) return [];
  const text = filled.map((name) => asString(message[name])).find((value) => value !== undefined);
  const value = {
    in: "reasoning" as const,
    fields: Object.fromEntries(filled.map((name) => [name, message[name]])),
  };
  return [{ type: "part", part: { type: "reasoning", text: text ?? "" }, value }];
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : typeof value === "string" && value !== "";
}

function readContent({ content }: UnknownObject, hasCalls: boolean): Block<ChatValue>[] {
  // Clients write an empty text beside calls where there is none.
  if (content === "" && hasCalls) return [];
  return contentBlocks(content).map((block) => readContentBlock(asObject(block)));
}

function readContentBlock(block: UnknownObject): Block<ChatValue> {
  const value = { in: "content" as const, block };
  if (block.type === "text" && typeof block.text === "string")
    return { type: "part", part: { type: "text", text: block.text }, value };
  if (MEDIA.includes(block.type)) return { type: "part", part: readFile(block), value };
  return { type: "part", part: opaquePart(block.type), value };
}

/** The types of blocks that are no text. */
const MEDIA: readonly unknown[] = ["image_url", "input_audio", "file"];

function readFile(value: unknown): FilePart {
  const { type, image_url: image, input_audio: audio, file } = asObject(value);
  const { filename, file_data: data } = asObject(file);
  const { format } = asObject(audio);
  return filePart({
    mime: typeof format === "string" ? `audio/${format}` : undefined,
    filename: asString(filename) ?? (MEDIA.includes(type) ? undefined : asString(type)),
    url: asString(asObject(image).url) ?? asString(data),
    base64: asString(asObject(audio).data),
  });
}

/** How a chat message writes the content of a result. */
export const CHAT_RESULT: ResultShape = { textType: "text", readFile };

function readField(name: "refusal" | "audio", wire: unknown): Block<ChatValue> {
  return { type: "part", part: { type: "opaque", name }, value: { in: name, wire } };
}

function readCalls({ tool_calls: calls, function_call: legacy }: UnknownObject): readonly Block<ChatValue>[] {
  if (Array.isArray(calls)) return calls.map((call) => readCall(asObject(call)));
  if (typeof legacy !== "object" || legacy === null) return [];
  const call = asObject(legacy);
  const value = { in: "function_call" as const, call };
  return [{ type: "call", tool: toolOf(call), input: readArguments(call.arguments), value }];
}

function readCall(call: UnknownObject): CallBlock<ChatValue> {
  const { id, function: called, custom } = call;
  const tool = toolOf(asObject(called ?? custom));
  const block = { type: "call", callId: asString(id), tool, value: { in: "tool_calls", call } } as const;
  if (called === undefined && custom !== undefined) return { ...block, input: asObject(custom).input };
  const { arguments: text } = asObject(called);
  const input = readArguments(text);
  if (isJsonText(text)) return { ...block, input };
  const written = { ...asObject(called), arguments: writeArguments(input) };
  return { ...block, input, repaired: { in: "tool_calls", call: { ...call, function: written } } };
}

function toolOf({ name }: UnknownObject): string {
  return asString(name) ?? "unknown";
}

function readResult(message: UnknownObject): ResultBlock<ChatValue> {
  return {
    type: "result",
    callId: asString(message.tool_call_id),
    tool: asString(message.name),
    outcome: { status: "done" as const, ...readResultContent(message.content, CHAT_RESULT) },
    value: { in: "result" as const, message },
  };
}
