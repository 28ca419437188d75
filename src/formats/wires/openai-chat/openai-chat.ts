import { asObject, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import type { ItemDraft } from "../../blocks/block-adapter.ts";
import { createBlockFormat, type WireFormat } from "../../blocks/create-block-format.ts";
import { writeArguments } from "../../content/call-arguments.ts";
import { writeResultContent } from "../../content/result-content.ts";
import { isPlainText, joinTexts, writeText } from "../../content/text-blocks.ts";
import {
  findOpenAIChatFaults,
  isTurnToResend,
  modelOf,
  turnsToResend,
  vendorOfModel,
} from "./find-faults.ts";
import {
  CHAT_RESULT,
  type ChatMessage,
  type ChatRequest,
  type ChatValue,
  type ChatWire,
  messagesOf,
  REASONING_FIELDS,
  readChatMessage,
} from "./read-message.ts";

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

function hasReasoningContent(item: ChatMessage): boolean {
  const { role, reasoning_content: reasoning } = asObject(item);
  return role === "assistant" && typeof reasoning === "string";
}
