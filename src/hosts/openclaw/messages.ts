import {
  type AiSdkMessage,
  type AiSdkWire,
  contentOf,
  ORIGIN,
  originOf,
  readWire,
} from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import { textOrJson } from "../../text/json.ts";
import { asArray, asObject, asString, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";

/** A message of OpenClaw's transcript. */
export type AgentMessage = UnknownObject;

/**
 * OpenClaw's messages in the form of the AI SDK, which sessions read, edit and check. What an edit leaves alone comes back
 * from `fromWire` as the very message that was given, with everything that only its provider understands.
 */
export function toWire(messages: readonly AgentMessage[]): AiSdkWire {
  return readWire(messages, { isResult: ({ role }) => role === "toolResult", readResults, readMessage });
}

/** The messages of a wire that edits may have changed; new ones get the time that is given. */
export function fromWire(wire: AiSdkWire, atMs: number): AgentMessage[] {
  return wire.flatMap((message) => origins.get(message) ?? writeMessage(message, atMs));
}

/** The text of an output, where it is nothing but text. */
export function plainText(content: unknown): string | undefined {
  const blocks = blocksOf(content);
  return blocks.every(({ type }) => type === "text")
    ? blocks.map(({ text }) => asString(text) ?? "").join("\n")
    : undefined;
}

/** What each message of a wire, and each result in one, was read from. */
const origins = new WeakMap<object, readonly AgentMessage[]>();

function readMessage(message: AgentMessage): AiSdkMessage {
  const isAnswer = message.role === "assistant";
  const blocks = blocksOf(message.content ?? message.summary ?? message.output);
  const read = {
    role: isAnswer ? "assistant" : "user",
    content: blocks.map(isAnswer ? readAnswerBlock : readBlock),
    [ORIGIN]: message,
  };
  origins.set(read, [message]);
  return read;
}

function blocksOf(content: unknown): readonly UnknownObject[] {
  if (typeof content !== "string") return asArray(content).map(asObject);
  return content === "" ? [] : [{ type: "text", text: content }];
}

function readBlock(block: UnknownObject): UnknownObject {
  if (block.type === "text") return { type: "text", text: asString(block.text) ?? "", [ORIGIN]: block };
  const mediaType = asString(block.mimeType) ?? "application/octet-stream";
  return { type: "file", mediaType, data: asString(block.data) ?? "", [ORIGIN]: block };
}

function readAnswerBlock(block: UnknownObject): UnknownObject {
  const { type, id, name, arguments: input, thinking } = block;
  if (type === "toolCall")
    return {
      type: "tool-call",
      toolCallId: textOrJson(id),
      toolName: textOrJson(name),
      input,
      [ORIGIN]: block,
    };
  if (type === "text") return readBlock(block);
  // Thoughts may be signed, so they are sent as they are or not at all.
  const text = asString(thinking) ?? "";
  return {
    type: "reasoning",
    text,
    providerOptions: { openclaw: omitUndefined({ signature: asString(block.thinkingSignature) }) },
    [ORIGIN]: block,
  };
}

function readResults(messages: readonly AgentMessage[]): AiSdkMessage {
  const content = messages.map((message) => {
    const part = {
      type: "tool-result",
      toolCallId: textOrJson(message.toolCallId),
      toolName: asString(message.toolName) ?? "unknown",
      output: readOutput(message),
      [ORIGIN]: message,
    };
    origins.set(part, [message]);
    return part;
  });
  const read = { role: "tool", content };
  origins.set(read, messages);
  return read;
}

function readOutput({ content, isError }: AgentMessage): UnknownObject {
  const text = plainText(content);
  if (text === undefined) return { type: "content", value: blocksOf(content).map(readBlock) };
  return { type: isError === true ? "error-text" : "text", value: text };
}

function writeMessage(message: AiSdkMessage, atMs: number): AgentMessage | readonly AgentMessage[] {
  const origin = originOf(message);
  const parts = contentOf(message);
  if (message.role === "tool") return parts.flatMap((part) => origins.get(part) ?? writeResult(part, atMs));
  const content = parts.map(writeBlock);
  if (message.role === "assistant") return { ...(origin ?? newAnswer(atMs)), role: "assistant", content };
  const isOwn = origin?.role === "user";
  return { ...(isOwn ? origin : { timestamp: origin?.timestamp ?? atMs }), role: "user", content };
}

/** What OpenClaw wants of an answer beside its content. */
function newAnswer(timestamp: number): UnknownObject {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
  return {
    api: "carryover",
    provider: "carryover",
    model: "carryover",
    usage,
    stopReason: "stop",
    timestamp,
  };
}

function writeResult(part: UnknownObject, atMs: number): AgentMessage {
  const before = originOf(part);
  const { type, value } = asObject(part.output);
  const content = Array.isArray(value)
    ? value.map((each) => writeBlock(asObject(each)))
    : [{ type: "text", text: textOrJson(value) }];
  // What stands beside an output for a screen repeats what was cut from it.
  const { details: _, ...kept } = before ?? { isError: type === "error-text", timestamp: atMs };
  return {
    ...kept,
    role: "toolResult",
    toolCallId: textOrJson(part.toolCallId),
    ...omitUndefined({ toolName: asString(part.toolName) }),
    content,
  };
}

/** The block of a part; one that was read from another keeps everything but what an edit changed. */
function writeBlock(part: UnknownObject): UnknownObject {
  const origin = originOf(part);
  if (part.type === "text") return { ...origin, type: "text", text: part.text };
  if (part.type !== "tool-call") return origin ?? { type: "text", text: "" };
  const { toolCallId: id, toolName: name, input } = part;
  return { ...origin, type: "toolCall", id, name, arguments: input };
}
