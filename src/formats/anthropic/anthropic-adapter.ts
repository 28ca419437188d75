import type { FilePart, Part, ToolPart } from "../../transcript/part.ts";
import type {
  Block,
  BlockAdapter,
  ItemContent,
  PlacedBlock,
  SettleContext,
} from "../blocks/block-adapter.ts";
import { filePart } from "../blocks/file-part.ts";
import { type ResultShape, readResultContent, writeResultContent } from "../blocks/result-content.ts";
import { safeCallId } from "../blocks/safe-call-id.ts";
import { writeText } from "../blocks/write-text.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import type { AnthropicMessage, AnthropicWire } from "./anthropic-wire.ts";
import { limitCacheMarks } from "./limit-cache-marks.ts";

/** How Anthropic's Messages API writes a conversation: content blocks, results in the user's next message, roles that take turns. */
export const anthropicAdapter: BlockAdapter<AnthropicWire, AnthropicMessage, Fields> = {
  name: "anthropic",
  results: "together",
  system: "apart",
  merges: (role) => role !== "system",
  open: openAnthropic,
  close: closeAnthropic,
  read: readMessage,
  settle: settleTurn,
  finish: limitCacheMarks,

  write({ role, base, blocks }) {
    const values = blocks.map(({ value }) => value);
    const { content } = fields(base);
    const [only, ...others] = values;
    const isString = typeof content === "string" && others.length === 0 && isPlainText(only);
    return [{ role, ...base, content: isString ? only?.text : values }];
  },

  writePart(part, source) {
    // Thinking is signed: it can be sent as it came or not at all.
    return part.type === "reasoning" ? undefined : writeText(part, source, "text");
  },

  writeCall: ({ callId, tool, input }, { value }) => ({
    ...(value ?? { type: "tool_use", id: safeCallId(callId) }),
    name: tool,
    input: input ?? {},
  }),

  writeResult(part, { before, value }) {
    return compact({
      ...(value ?? { type: "tool_result", tool_use_id: safeCallId(part.callId) }),
      content: writeResultContent(part, { before, content: value?.content, shape: SHAPE }),
      is_error:
        part.outcome.status === "failed" ? true : value?.is_error === true ? undefined : value?.is_error,
    });
  },
};

function openAnthropic(wire: AnthropicWire): readonly AnthropicMessage[] {
  if (Array.isArray(wire)) return wire;
  const { messages, system } = fields(wire);
  if (!Array.isArray(messages)) return [];
  return system === undefined || system === null
    ? messages
    : [{ role: "system", content: system }, ...messages];
}

function closeAnthropic(wire: AnthropicWire, items: readonly AnthropicMessage[]): AnthropicWire {
  if (Array.isArray(wire)) return items;
  if (typeof wire !== "object" || wire === null) return wire;
  const systems = items.filter((item) => fields(item).role === "system");
  const messages = items.filter((item) => fields(item).role !== "system");
  const [only, ...others] = systems;
  const { system: _, ...request } = wire as { readonly system?: unknown } & Exclude<
    AnthropicWire,
    readonly unknown[]
  >;
  if (only === undefined) return { ...request, messages };
  const system = others.length === 0 ? only.content : systems.flatMap(({ content }) => contentOf(content));
  return { ...wire, system, messages };
}

function readMessage(message: AnthropicMessage): ItemContent<Fields> {
  const { role, content } = fields(message);
  return {
    role: stringField(role) ?? "unknown",
    blocks: contentOf(content).map((block) => readBlock(fields(block))),
  };
}

function contentOf(content: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : [];
}

function readBlock(value: Fields): Block<Fields> {
  switch (value.type) {
    case "text":
      return typeof value.text === "string"
        ? {
            ...readPart(value, { type: "text", text: value.text }),
            ...(value.text.trim() === "" && unmarked(value)),
          }
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

/** No cache mark may stand on thinking or on a blank text. */
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
  const { output, attachments } = readResultContent(value.content, SHAPE);
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

function isPlainText(value: Fields | undefined): boolean {
  return value?.type === "text" && Object.keys(value).length === 2;
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

const SHAPE: ResultShape = { textType: "text", readFile };

function settleTurn(
  blocks: readonly PlacedBlock<Fields>[],
  context: SettleContext<AnthropicWire>,
): readonly PlacedBlock<Fields>[] {
  return context.role === "user" ? resultsFirst(blocks) : keepThinkingOfLastCall(blocks, context);
}

/** Results stand in front of everything else in their message, also those that answer nothing. */
function resultsFirst(blocks: readonly PlacedBlock<Fields>[]): readonly PlacedBlock<Fields>[] {
  const firstOther = blocks.findIndex(({ half }) => half !== "result");
  if (firstOther === -1 || blocks.findLastIndex(({ half }) => half === "result") < firstOther) return blocks;
  return [
    ...blocks.filter(({ half }) => half === "result"),
    ...blocks.filter(({ half }) => half !== "result"),
  ];
}

/** The turn whose tools were just called must start with its thinking when thinking is on; a list does not say whether it is. */
function keepThinkingOfLastCall(
  blocks: readonly PlacedBlock<Fields>[],
  { wire, isLast }: SettleContext<AnthropicWire>,
): readonly PlacedBlock<Fields>[] {
  const isCalling = isLast && blocks.some(({ half }) => half === "call");
  const mayThink = Array.isArray(wire) || THINKING_ON.includes(fields(fields(wire).thinking).type);
  const isKept = (isCalling && mayThink) || !blocks.some(({ hidden }) => hidden);
  const kept = isKept ? blocks : blocks.filter(({ hidden }) => hidden !== true);
  return isCalling ? thinkingFirst(kept) : kept;
}

const THINKING_ON: readonly unknown[] = ["enabled", "adaptive"];

/** Where an edit put a text before a turn that started with thinking, the thinking goes in front of both. */
function thinkingFirst(blocks: readonly PlacedBlock<Fields>[]): readonly PlacedBlock<Fields>[] {
  const start = blocks.findIndex((block) => isThinking(block) && block.index === 0);
  if (start <= 0 || blocks.slice(0, start).some(isThinking)) return blocks;
  const end = blocks.findIndex((block, index) => index > start && !isThinking(block));
  return [...blocks.slice(start, end), ...blocks.slice(0, start), ...blocks.slice(end)];
}

function isThinking({ part }: PlacedBlock<Fields>): boolean {
  return part.type === "reasoning";
}
