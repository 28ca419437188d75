import type { BlockAdapter, ItemDraft } from "../blocks/block-adapter.ts";
import { writeArguments } from "../blocks/call-arguments.ts";
import { writeResultContent } from "../blocks/result-content.ts";
import { writeText } from "../blocks/write-text.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import { vendorOfModel } from "./find-openai-chat-faults.ts";
import type { ChatMessage, ChatWire } from "./openai-chat-wire.ts";
import { CHAT_RESULT, type ChatValue, REASONING_FIELDS, readChatMessage } from "./read-chat-message.ts";

/** How chat completions APIs write a conversation: one message a turn, each result a message of its own. */
export const openaiChatAdapter: BlockAdapter<ChatWire, ChatMessage, ChatValue> = {
  name: "openai-chat",
  results: "apart",
  merges: () => false,
  open: messagesOf,
  close: (wire, messages) =>
    Array.isArray(wire) || typeof wire !== "object" || wire === null
      ? (messages as ChatWire)
      : { ...wire, messages },
  read: readChatMessage,
  write: writeMessages,
  finish: tellReasoningInLoop,

  writePart(part, { value, ...source }) {
    if (part.type === "reasoning") return writeReasoning(part.text, value);
    const block = writeText(
      part,
      { ...source, ...(value?.in === "content" && { value: value.block }) },
      "text",
    );
    return block === undefined ? undefined : { in: "content", block };
  },

  writeCall({ callId, tool, input }, { value }) {
    if (value?.in === "function_call")
      return { in: "function_call", call: { ...value.call, name: tool, arguments: writeArguments(input) } };
    const call = value?.in === "tool_calls" ? value.call : { id: callId, type: "function" };
    if (call.custom !== undefined)
      return { in: "tool_calls", call: { ...call, custom: { ...fields(call.custom), name: tool, input } } };
    const called = { ...fields(call.function), name: tool, arguments: writeArguments(input) };
    return { in: "tool_calls", call: { ...call, function: called } };
  },

  writeResult(part, { before, value }) {
    const message = value?.in === "result" ? value.message : { role: "tool", tool_call_id: part.callId };
    const content = writeResultContent(part, { before, content: message.content, shape: CHAT_RESULT });
    return { in: "result", message: { ...message, content } };
  },
};

function messagesOf(wire: ChatWire): readonly ChatMessage[] {
  if (Array.isArray(wire)) return wire;
  const { messages } = fields(wire);
  return Array.isArray(messages) ? messages : [];
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
  const old: Fields = base === undefined || isResult ? { role } : fields(base);
  const calls = values.flatMap((value) => (value.in === "tool_calls" ? [value.call] : []));
  const legacy = values.find((value) => value.in === "function_call");
  const hasCalls = calls.length > 0 || legacy !== undefined;
  return compact({
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

function writeContent(old: Fields, values: readonly ChatValue[], hasCalls: boolean): unknown {
  const blocks = values.flatMap((value) => (value.in === "content" ? [value.block] : []));
  const [only, ...others] = blocks;
  if (only === undefined) return hasCalls ? noContent(old) : undefined;
  const isPlain = others.length === 0 && only.type === "text" && Object.keys(only).length === 2;
  return isPlain && !Array.isArray(old.content) ? only.text : blocks;
}

/** How this client writes that a turn only calls: an empty text, null, or not at all. */
function noContent({ content }: Fields): unknown {
  if (typeof content === "string") return "";
  return content === undefined ? undefined : null;
}

/** The reasoning that is left; where none is, all of its fields leave. */
function writeReasoningFields(values: readonly ChatValue[]): Fields {
  const none = Object.fromEntries(REASONING_FIELDS.map((name) => [name, undefined]));
  return { ...none, ...values.find((value) => value.in === "reasoning")?.fields };
}

/** Where a vendor wants reasoning told, every turn of the current tool loop has to, if only with an empty text. */
function tellReasoningInLoop(items: readonly ChatMessage[], wire: ChatWire): readonly ChatMessage[] {
  if (!wantsReasoning(wire)) return items;
  const start = items.findLastIndex((item) => fields(item).role === "user");
  const isMissing = (item: ChatMessage, index: number): boolean =>
    index > start && fields(item).role === "assistant" && !isTold(item);
  return items.some(isMissing)
    ? items.map((item, index) => (isMissing(item, index) ? { ...item, reasoning_content: "" } : item))
    : items;
}

function wantsReasoning(wire: ChatWire): boolean {
  const model = stringField(fields(wire).model) ?? "";
  return vendorOfModel(model) === "reasoning-content" || messagesOf(wire).some(isTold);
}

function isTold(item: ChatMessage): boolean {
  const { role, reasoning_content: reasoning } = fields(item);
  return role === "assistant" && typeof reasoning === "string";
}
