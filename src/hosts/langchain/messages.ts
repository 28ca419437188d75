import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
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

/**
 * LangChain's messages in the form of the AI SDK, which sessions read, edit and check. What an edit leaves alone comes
 * back from `fromWire` as the very message that was given, with everything that only its provider understands.
 */
export function toWire(messages: readonly BaseMessage[]): AiSdkWire {
  return readWire(messages, {
    isResult: (message) => ToolMessage.isInstance(message),
    readResults: (results) => readOnce((results as readonly ToolMessage[]).map(wholeResult), readResults),
    readMessage: (message) => readOnce([message], readMessage),
  });
}

/** The messages of a wire that edits may have changed. */
export function fromWire(wire: AiSdkWire): BaseMessage[] {
  return wire.flatMap((message) => origins.get(message) ?? writeMessage(message));
}

/** A result with less text before the model. Where its whole is kept nowhere else it stays beside it, where no provider looks. */
export function trimResult(message: ToolMessage, text: string, whole: "beside" | "stored"): ToolMessage {
  const beside = whole === "beside" ? { [WHOLE]: message.content } : {};
  return withContent(message, text, { ...message.additional_kwargs, ...beside });
}

/** The name in `additional_kwargs` under which a trimmed output has its whole. */
const WHOLE = "carryover_whole_output";

/** A result as the tool gave it. */
function wholeResult(message: ToolMessage): ToolMessage {
  const { [WHOLE]: text, ...kept } = asObject(message.additional_kwargs);
  if (typeof text !== "string") return message;
  const whole = wholes.get(message) ?? withContent(message, text, kept);
  wholes.set(message, whole);
  return whole;
}

function withContent(message: ToolMessage, content: unknown, additional_kwargs: object): ToolMessage {
  return new ToolMessage({ ...message, content, additional_kwargs } as never);
}

const wholes = new WeakMap<ToolMessage, ToolMessage>();
/** What each message of a wire, and each result in one, was read from. */
const origins = new WeakMap<object, readonly BaseMessage[]>();
const readings = new WeakMap<object, AiSdkMessage>();

/** Messages do not change, so each is read once; results that stand together are one message of a wire. */
function readOnce<M extends BaseMessage>(from: readonly M[], read: (from: readonly M[]) => AiSdkMessage) {
  const known = readings.get(from[0] ?? {});
  const before = known && origins.get(known);
  if (known && before?.length === from.length && before.every((each, index) => each === from[index]))
    return known;
  const message = read(from);
  origins.set(message, from);
  readings.set(from[0] ?? {}, message);
  return message;
}

function readMessage([message]: readonly BaseMessage[]): AiSdkMessage {
  const role = ROLES[message?.getType() ?? ""] ?? "user";
  const origin = { [ORIGIN]: message };
  if (message === undefined || role === "system") return { role, content: message?.text ?? "", ...origin };
  if (role === "user") return { role, content: blocksOf(message).map(readBlock), ...origin };
  return { role, content: readAnswer(message as AIMessage), ...origin };
}

const ROLES: Readonly<Record<string, string>> = { ai: "assistant", system: "system", developer: "system" };

/** A text that is no list has no block of its own. */
function blocksOf({ content }: BaseMessage): readonly UnknownObject[] {
  if (typeof content !== "string") return asArray(content).map(asObject);
  return content === "" ? [] : [{ type: "text", text: content }];
}

function readBlock(block: UnknownObject): UnknownObject {
  if (block.type === "text") return { type: "text", text: asString(block.text) ?? "", [ORIGIN]: block };
  return readFile(block);
}

/** Whatever shape of block a provider takes for a picture, a sound or a document: only size and kind count here. */
function readFile(block: UnknownObject): UnknownObject {
  const { type, source, image_url, mime_type, data, url } = block;
  const address = firstText(image_url, asObject(image_url).url, url);
  const [, mime, encoded] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(address ?? "") ?? [];
  const kind = asString(type)?.startsWith("image") ? "image/*" : "application/octet-stream";
  return {
    type: "file",
    mediaType: firstText(mime_type, asObject(source).media_type, mime) ?? kind,
    data: firstText(data, asObject(source).data, encoded, address) ?? "",
    [ORIGIN]: block,
  };
}

function firstText(...values: readonly unknown[]): string | undefined {
  return values.map(asString).find(Boolean);
}

/** The parts of an answer in their order; calls without a block of their own stand at its end, where providers put them. */
function readAnswer(message: AIMessage): readonly UnknownObject[] {
  const calls = [...(message.tool_calls ?? [])];
  const parts = blocksOf(message).flatMap((block): readonly UnknownObject[] => {
    const { type } = block;
    if (type === "text") return [readBlock(block)];
    if (THOUGHTS.has(type)) return [readThought(block)];
    const place = calls.findIndex(({ id }) => id !== undefined && id === block.id);
    if (place < 0) return CHUNKS.has(type) ? [] : [readContentBlock(block)];
    return calls.splice(place, 1).map((call) => ({ ...readCall(call), [ORIGIN]: block }));
  });
  return [...parts, ...calls.map(readCall)];
}

const THOUGHTS: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "reasoning"]);
/** Pieces of a call that was streamed: the call itself is in `tool_calls`. */
const CHUNKS: ReadonlySet<unknown> = new Set(["input_json_delta", "tool_call_chunk"]);

function readCall({ id, name, args }: NonNullable<AIMessage["tool_calls"]>[number]): UnknownObject {
  return { type: "tool-call", toolCallId: id ?? "", toolName: name, input: args };
}

/** Thoughts may be signed, so they are sent as they are or not at all. */
function readThought(block: UnknownObject): UnknownObject {
  const text = firstText(block.thinking, block.reasoning, block.data) ?? "";
  return {
    type: "reasoning",
    text,
    providerOptions: { langchain: omitUndefined({ signature: asString(block.signature) }) },
    [ORIGIN]: block,
  };
}

/** What a provider did itself, such as a web search: it stays or leaves whole. */
function readContentBlock(block: UnknownObject): UnknownObject {
  const name = { toolCallId: asString(block.id) ?? "", toolName: asString(block.type) ?? "unknown" };
  return { type: "tool-call", providerExecuted: true, ...name, input: block, [ORIGIN]: block };
}

function readResults(messages: readonly ToolMessage[]): AiSdkMessage {
  const content = messages.map((message) => {
    const name = { toolCallId: message.tool_call_id, ...omitUndefined({ toolName: message.name }) };
    const part = { type: "tool-result", ...name, output: readOutput(message), [ORIGIN]: message };
    origins.set(part, [message]);
    return part;
  });
  return { role: "tool", content };
}

function readOutput(message: ToolMessage): UnknownObject {
  const { content, status } = message;
  if (status === "error") return { type: "error-text", value: message.text };
  if (typeof content === "string") return { type: "text", value: content };
  return { type: "content", value: blocksOf(message).map(readBlock) };
}

function writeMessage(message: AiSdkMessage): BaseMessage | readonly BaseMessage[] {
  const origin = originOf(message);
  const parts = contentOf(message);
  if (message.role === "tool") return parts.flatMap((part) => origins.get(part) ?? writeResult(part));
  if (message.role === "assistant") return writeAnswer(parts, origin);
  const head = omitUndefined({ id: asString(origin?.id), name: asString(origin?.name) });
  const content = plainContent(parts.map(writeBlock)) as string;
  return message.role === "system"
    ? new SystemMessage({ content, ...head })
    : new HumanMessage({ content, ...head });
}

function writeResult(part: UnknownObject): ToolMessage {
  const before = originOf(part) as ToolMessage | undefined;
  const { value } = asObject(part.output);
  const content = Array.isArray(value) ? value.map((each) => writeBlock(asObject(each))) : textOrJson(value);
  const tool_call_id = textOrJson(part.toolCallId);
  if (before?.tool_call_id === tool_call_id) return withContent(before, content, before.additional_kwargs);
  const name = omitUndefined({ name: asString(part.toolName) });
  return new ToolMessage({ content: content as string, tool_call_id, ...name });
}

/** The block of a part; one that was read from another keeps everything but what an edit changed. */
function writeBlock(part: UnknownObject): UnknownObject {
  const origin = originOf(part);
  if (part.type !== "text") return origin ?? {};
  // An id would name what the provider has stored, and that is not this text.
  const { id: _, ...kept } = origin ?? {};
  return { ...kept, type: "text", text: part.text };
}

/** Texts without anything else in them as one text, which every provider takes. */
function plainContent(blocks: readonly UnknownObject[]): string | readonly UnknownObject[] {
  const isPlain = blocks.every((block) => block.type === "text" && Object.keys(block).length === 2);
  return isPlain ? blocks.map(({ text }) => text).join("\n\n") : blocks;
}

/**
 * An answer of which an edit left something else than there was. What a provider has stored of it by ids is left out,
 * since it would contradict the rest; what belongs to single calls stays.
 */
function writeAnswer(parts: readonly UnknownObject[], origin: UnknownObject | undefined): AIMessage {
  const calls = parts.filter((part) => part.type === "tool-call" && part.providerExecuted !== true);
  const hasBlocks = calls.some((call) => originOf(call) !== undefined);
  const blocks = parts.flatMap((part) => {
    if (!calls.includes(part)) return [writeBlock(part)];
    // Where one call stands among the blocks, the provider looks for all of them there.
    return hasBlocks ? [writeCallBlock(part)] : [];
  });
  const { tool_calls: _, function_call: __, ...kwargs } = asObject(origin?.additional_kwargs);
  const { reasoning: ___, __openai_function_call_ids__: ____, ...additional_kwargs } = kwargs;
  const { output: _____, id: ______, ...response_metadata } = asObject(origin?.response_metadata);
  return new AIMessage({
    // A text of nothing would be sent as one to OpenAI's Responses, which refuses it.
    content: blocks.length === 0 ? [] : (plainContent(blocks) as string),
    tool_calls: calls.map(({ toolCallId: id, toolName: name, input }) => {
      return { type: "tool_call", id: textOrJson(id), name: textOrJson(name), args: asObject(input) };
    }),
    additional_kwargs,
    response_metadata,
    ...omitUndefined({ id: asString(origin?.id), name: asString(origin?.name) }),
  });
}

function writeCallBlock(part: UnknownObject): UnknownObject {
  const { toolCallId: id, toolName: name, input } = part;
  const origin = originOf(part) ?? { type: "tool_use" };
  return { ...origin, id, name, ["args" in origin ? "args" : "input"]: input };
}
