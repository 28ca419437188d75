import { asObject, asString, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import type { FilePart } from "../../../transcript/part.ts";
import type { Block, CallBlock, ItemContent, ItemDraft, ResultBlock } from "../../blocks/block-adapter.ts";
import { createBlockFormat, type WireFormat } from "../../blocks/create-block-format.ts";
import {
  contentBlocks,
  filePart,
  isJsonText,
  isPlainText,
  joinTexts,
  opaquePart,
  type ResultShape,
  readArguments,
  readResultContent,
  writeArguments,
  writeResultContent,
  writeText,
} from "../../blocks/message-content.ts";
import { wireList } from "../../faults/find-common-faults.ts";
import { findOpenAIChatFaults, isTurnToResend, MEDIA, turnsToResend, vendorOfModel } from "./find-faults.ts";

/**
 * Requests of a chat completions API, or their bare lists of messages. A turn is one message; each result is a message
 * of its own.
 */
export const openaiChat: WireFormat<ChatWire, ChatRequest> = /* @__PURE__ */ createBlockFormat<
  ChatWire,
  ChatMessage,
  ChatValue,
  ChatRequest
>(
  {
    name: "openai-chat",
    results: "apart",
    merges: (role) => (role === "assistant" ? "edited" : "never"),
    open: messagesOf,
    close: (wire, messages) =>
      Array.isArray(wire) || typeof wire !== "object" || wire === null
        ? (messages as ChatWire)
        : { ...wire, messages },
    read: readChatMessage,
    write: writeMessages,
    normalizeItems: fillReasoning,
    encoding: {
      list: "messages",
      maxCallIdChars: 40,
      notInToolNames: /[^a-zA-Z0-9_-]/g,
      tidy: withPlainContent,
    },

    writePart(part, { value, ...source }) {
      if (part.type === "reasoning") return writeReasoning(part.text, value);
      const old = value?.in === "content" ? { value: value.block } : {};
      const block = writeText(part, { ...source, ...old }, "text");
      return block === undefined ? undefined : { in: "content", block };
    },

    writeCall({ callId, tool, input }, { value }) {
      if (value?.in === "function_call")
        return { in: "function_call", call: { ...value.call, name: tool, arguments: writeArguments(input) } };
      const call = value?.in === "tool_calls" ? value.call : { id: callId, type: "function" };
      if (call.custom !== undefined)
        return {
          in: "tool_calls",
          call: { ...call, custom: { ...asObject(call.custom), name: tool, input } },
        };
      const called = { ...asObject(call.function), name: tool, arguments: writeArguments(input) };
      return { in: "tool_calls", call: { ...call, function: called } };
    },

    renameCall(value, callId) {
      if (value.in === "tool_calls") return { ...value, call: { ...value.call, id: callId } };
      if (value.in !== "result" || value.message.role !== "tool") return value;
      return { ...value, message: { ...value.message, tool_call_id: callId } };
    },

    writeResult(part, { before, value }) {
      const message = value?.in === "result" ? value.message : { role: "tool", tool_call_id: part.callId };
      const content = writeResultContent(part, { before, content: message.content, shape: CHAT_RESULT });
      return { in: "result", message: { ...message, content } };
    },
  },
  findOpenAIChatFaults,
);

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

function messagesOf(wire: ChatWire): readonly ChatMessage[] {
  return wireList(wire, "messages") as readonly ChatMessage[];
}

/** A message of nothing but text as a string: not every vendor takes a list. */
function withPlainContent(message: ChatMessage): ChatMessage {
  if (!Array.isArray(message.content)) return message;
  const [only, ...others] = joinTexts(message.content);
  return isPlainText(only) && others.length === 0 ? { ...message, content: only.text } : message;
}

/** Reasoning that is plain text can be changed; what comes with details of its own is signed. */
function writeReasoning(text: string, value: ChatValue | undefined): ChatValue | undefined {
  if (value?.in !== "reasoning" || value.fields.reasoning_details !== undefined) return undefined;
  return {
    in: "reasoning",
    fields: Object.fromEntries(Object.keys(value.fields).map((name) => [name, text])),
  };
}

function writeMessages({ role, base, blocks }: ItemDraft<ChatMessage, ChatValue>): readonly ChatMessage[] {
  const results: ChatMessage[] = [];
  const values: ChatValue[] = [];
  for (const { value } of blocks) {
    if (value.in === "result") results.push(value.message as unknown as ChatMessage);
    else values.push(value);
  }
  return values.length === 0 ? results : [...results, writeMessage(role, base, values)];
}

function writeMessage(
  role: string,
  base: ChatMessage | undefined,
  values: readonly ChatValue[],
): ChatMessage {
  const isResult = base?.role === "tool" || base?.role === "function";
  const old: UnknownObject = base === undefined || isResult ? { role } : asObject(base);
  const calls = values.flatMap((value) => (value.in === "tool_calls" ? [value.call] : []));
  const legacy = values.find((value) => value.in === "function_call");
  const hasCalls = calls.length > 0 || legacy !== undefined;
  return omitUndefined({
    ...old,
    ...writeReasoningFields(values),
    content: writeContent(old, values, hasCalls),
    refusal:
      values.find((value) => value.in === "refusal")?.wire ?? (old.refusal === null ? null : undefined),
    audio: values.find((value) => value.in === "audio")?.wire ?? (old.audio === null ? null : undefined),
    tool_calls: calls.length > 0 ? calls : undefined,
    function_call: legacy?.call,
  }) as unknown as ChatMessage;
}

function writeContent(old: UnknownObject, values: readonly ChatValue[], hasCalls: boolean): unknown {
  const blocks = values.flatMap((value) => (value.in === "content" ? [value.block] : []));
  const [only, ...others] = blocks;
  if (only === undefined) return hasCalls ? noContent(old) : undefined;
  const isPlain = others.length === 0 && isPlainText(only);
  return isPlain && !Array.isArray(old.content) ? only.text : blocks;
}

/** The content of a turn with only calls, as this client writes it: an empty text, null, or no field. */
function noContent({ content }: UnknownObject): unknown {
  if (typeof content === "string") return "";
  return content === undefined ? undefined : null;
}

/** The reasoning that is left; where none is, all of its fields are removed. */
function writeReasoningFields(values: readonly ChatValue[]): UnknownObject {
  const none = Object.fromEntries(REASONING_FIELDS.map((name) => [name, undefined]));
  return { ...none, ...values.find((value) => value.in === "reasoning")?.fields };
}

/** Where a vendor wants reasoning back, these turns need the field, if only with an empty text. */
function fillReasoning(items: readonly ChatMessage[], wire: ChatWire): readonly ChatMessage[] {
  if (!wantsReasoning(wire)) return items;
  const isWanted = isTurnToResend(items, turnsToResend(modelOf(wire)));
  const isMissing = (item: ChatMessage, index: number): boolean =>
    isWanted(index) && !hasReasoningContent(item);
  return items.some(isMissing)
    ? items.map((item, index) => (isMissing(item, index) ? { ...item, reasoning_content: "" } : item))
    : items;
}

function wantsReasoning(wire: ChatWire): boolean {
  return vendorOfModel(modelOf(wire)) === "reasoning-content" || messagesOf(wire).some(hasReasoningContent);
}

function modelOf(wire: ChatWire): string {
  return asString(asObject(wire).model) ?? "";
}

function hasReasoningContent(item: ChatMessage): boolean {
  const { role, reasoning_content: reasoning } = asObject(item);
  return role === "assistant" && typeof reasoning === "string";
}

/** A block of a chat message, by the field that holds it. */
type ChatValue =
  | { readonly in: "content"; readonly block: UnknownObject }
  | { readonly in: "reasoning"; readonly fields: UnknownObject }
  | { readonly in: "tool_calls"; readonly call: UnknownObject }
  | { readonly in: "function_call"; readonly call: UnknownObject }
  | { readonly in: "refusal"; readonly wire: unknown }
  | { readonly in: "audio"; readonly wire: unknown }
  | { readonly in: "result"; readonly message: UnknownObject };

/** The fields in which vendors keep a turn's reasoning; they belong together. */
const REASONING_FIELDS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_details"];

/** Reads one message; a result counts as the user's. */
function readChatMessage(item: ChatMessage): ItemContent<ChatValue> {
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
const CHAT_RESULT: ResultShape = { textType: "text", readFile };

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
