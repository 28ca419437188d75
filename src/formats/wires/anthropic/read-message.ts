import { modelFacts } from "../../../models/model-facts.ts";
import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { FilePart, Part, ToolPart } from "../../../transcript/part.ts";
import type { Block, ItemContent } from "../../blocks/block-adapter.ts";
import { reasoningPart } from "../../blocks/sealed-thoughts.ts";
import { safeCallId } from "../../content/call-ids.ts";
import { filePart, opaquePart } from "../../content/foreign-parts.ts";
import { type ResultShape, readResultContent } from "../../content/result-content.ts";
import { contentBlocks } from "../../content/text-blocks.ts";

/** A message of Anthropic's Messages API. Blocks and fields that are not known are kept as they are. */
export interface AnthropicMessage {
  readonly role: string;
  readonly content: unknown;
}

/** A request of that API; `model`, `system`, `tools` and `thinking` are looked at, everything else is kept. */
export interface AnthropicRequest {
  readonly messages: readonly AnthropicMessage[];
  readonly model?: unknown;
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly thinking?: unknown;
}

/** What the Anthropic format reads: a list of messages, or a whole request. */
export type AnthropicWire = readonly AnthropicMessage[] | AnthropicRequest;

/** The messages of a wire, its system text first. */
export function openAnthropic(wire: AnthropicWire): readonly AnthropicMessage[] {
  if (Array.isArray(wire)) return wire;
  const { messages, system } = asObject(wire);
  if (!Array.isArray(messages)) return [];
  return system === undefined || system === null
    ? messages
    : [{ role: "system", content: system }, ...messages];
}

/** The wire with other messages in it. */
export function closeAnthropic(wire: AnthropicWire, items: readonly AnthropicMessage[]): AnthropicWire {
  if (Array.isArray(wire)) return items;
  if (typeof wire !== "object" || wire === null) return wire;
  const systems = items.filter((item) => asObject(item).role === "system");
  const messages = items.filter((item) => asObject(item).role !== "system");
  const [only, ...others] = systems;
  const { system: _, ...request } = wire as AnthropicRequest;
  if (only === undefined) return { ...request, messages };
  const system =
    others.length === 0 ? only.content : systems.flatMap(({ content }) => contentBlocks(content));
  return { ...wire, system, messages };
}

/** Reads one message, or the system text. */
export function readAnthropicMessage(message: AnthropicMessage): ItemContent<UnknownObject> {
  const { role, content } = asObject(message);
  return {
    role: asString(role) ?? "unknown",
    blocks: contentBlocks(content).map((block) => readBlock(asObject(block))),
  };
}

function readBlock(value: UnknownObject): Block<UnknownObject> {
  switch (value.type) {
    case "text":
      return typeof value.text === "string"
        ? readPart(value, { type: "text", text: value.text })
        : readPart(value, opaquePart(value.type));
    case "thinking":
      return {
        ...readPart(value, reasoningPart(asString(value.thinking) ?? "", value.signature)),
        ...unmarked(value),
      };
    case "redacted_thinking":
      return { ...readPart(value, reasoningPart("", value.data)), ...unmarked(value) };
    case "tool_use":
      return readCall(value);
    case "tool_result":
      return readResult(value);
    case "image":
    case "document":
      return readPart(value, readFile(value));
    case "compaction": {
      const text = asString(value.content) ?? "";
      if (text.trim() === "") return readPart(value, opaquePart(value.type));
      return readPart(value, { type: "text", text, providerBlock: "anthropic" });
    }
    default:
      return readPart(value, opaquePart(value.type, value));
  }
}

function readPart(value: UnknownObject, part: Exclude<Part, ToolPart>): Block<UnknownObject> {
  return { type: "part", part, value };
}

/** No cache mark may be on thinking. */
function unmarked(value: UnknownObject): { readonly repaired?: UnknownObject } {
  if (!isMarked(value)) return {};
  const { cache_control: _, ...repaired } = value;
  return { repaired };
}

function readCall(value: UnknownObject): Block<UnknownObject> {
  const id = asString(value.id);
  return {
    type: "call",
    callId: id,
    tool: asString(value.name) ?? "unknown",
    input: value.input ?? {},
    value,
    repaired: id === undefined || safeCallId(id) === id ? undefined : { ...value, id: safeCallId(id) },
  };
}

function readResult(value: UnknownObject): Block<UnknownObject> {
  const id = asString(value.tool_use_id);
  const { output, attachments } = readResultContent(value.content, ANTHROPIC_RESULT);
  const repaired = { ...value, ...repairId(id), ...repairContent(value.content) };
  const isRepaired = repaired.tool_use_id !== value.tool_use_id || repaired.content !== value.content;
  return {
    type: "result",
    callId: id,
    outcome:
      value.is_error === true
        ? { status: "failed" as const, error: output }
        : { status: "done" as const, output, attachments },
    value,
    repaired: isRepaired ? repaired : undefined,
  };
}

function repairId(id: string | undefined): UnknownObject {
  return id === undefined || safeCallId(id) === id ? {} : { tool_use_id: safeCallId(id) };
}

function repairContent(content: unknown): UnknownObject {
  if (!Array.isArray(content) || !content.some(isBlankText)) return {};
  const rest = content.filter((block) => !isBlankText(block));
  return { content: rest.length === 0 ? "" : rest };
}

/** True for a text block with nothing but blanks in it. */
export function isBlankText(block: unknown): boolean {
  const { type, text } = asObject(block);
  return type === "text" && typeof text === "string" && text.trim() === "";
}

function readFile(block: unknown): FilePart {
  const { type, source, title } = asObject(block);
  const { media_type: mime, data, url } = asObject(source);
  const isText = asObject(source).type === "text";
  return filePart({
    mime:
      asString(mime) ?? (type === "image" ? "image/*" : type === "document" ? "application/pdf" : undefined),
    filename: asString(title) ?? (source === undefined ? asString(type) : undefined),
    base64: isText ? undefined : asString(data),
    url: asString(url),
  });
}

/** How a tool result writes its content. */
export const ANTHROPIC_RESULT: ResultShape = { textType: "text", readFile };

/** True for a block at which the client asks for the prefix to be cached. */
export function isMarked(block: unknown): boolean {
  const { cache_control: mark } = asObject(block);
  return mark !== undefined && mark !== null;
}

/** How many such marks a request may have. */
export const MAX_CACHE_MARKS = 4;

/** True for a request in which the model is asked to think. */
export function isThinkingOn(wire: unknown): boolean {
  const { type } = asObject(asObject(wire).thinking);
  return type === "enabled" || type === "adaptive";
}

/** True for a request whose model binds its thoughts to what stands before them: it takes a tool loop without any. */
export function hasBoundThoughts(wire: unknown): boolean {
  const id = asString(asObject(wire).model);
  return id !== undefined && modelFacts({ provider: "anthropic", id }).afterEdit === "refused";
}
