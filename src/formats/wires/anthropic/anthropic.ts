import { asArray, asObject, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import type { BlockAdapter, PlacedBlock, TurnContext } from "../../blocks/block-adapter.ts";
import { createBlockFormat, type WireFormat } from "../../blocks/create-block-format.ts";
import { safeCallId } from "../../content/call-ids.ts";
import { writeResultContent } from "../../content/result-content.ts";
import { isPlainText, writeText } from "../../content/text-blocks.ts";
import { findAnthropicFaults } from "./find-faults.ts";
import {
  ANTHROPIC_RESULT,
  type AnthropicMessage,
  type AnthropicRequest,
  type AnthropicWire,
  closeAnthropic,
  hasBoundThoughts,
  isMarked,
  isThinkingOn,
  MAX_CACHE_MARKS,
  openAnthropic,
  readAnthropicMessage,
} from "./read-message.ts";

/** How Anthropic's Messages API writes a conversation: content blocks, results in the user's next message, roles that take turns. */
export const anthropicAdapter: BlockAdapter<AnthropicWire, AnthropicMessage, UnknownObject> = {
  name: "anthropic",
  results: "together",
  system: "apart",
  merges: (role) => (role === "system" ? "never" : "always"),
  open: openAnthropic,
  close: closeAnthropic,
  read: readAnthropicMessage,
  normalizeTurn: normalizeAnthropicTurn,
  normalizeItems: limitCacheMarks,
  encoding: { list: "messages", maxCallIdChars: 64, notInToolNames: /[^a-zA-Z0-9_-]/g },

  write({ role, base, blocks }) {
    const values = blocks.map(({ value }) => value);
    const { content } = asObject(base);
    const [only, ...others] = values;
    const isString = typeof content === "string" && others.length === 0 && isPlainText(only);
    return [{ role, ...base, content: isString ? only?.text : values }];
  },

  writePart(part, source) {
    // Thinking is signed: it can be sent as it came or not at all.
    if (part.type === "reasoning") return undefined;
    if (part.type === "text" && part.providerBlock === "anthropic" && part.block !== undefined)
      return part.block;
    const isWordsOnly = part.providerBlock === undefined && source.value?.type === "compaction";
    return writeText(part, isWordsOnly ? { role: source.role } : source, "text");
  },

  writeCall: ({ callId, tool, input }, { value }) => ({
    ...(value ?? { type: "tool_use", id: safeCallId(callId) }),
    name: tool,
    input: input ?? {},
  }),

  renameCall: (value, callId) => ({
    ...value,
    [value.type === "tool_result" ? "tool_use_id" : "id"]: safeCallId(callId),
  }),

  writeResult(part, { before, value }) {
    return omitUndefined({
      ...(value ?? { type: "tool_result", tool_use_id: safeCallId(part.callId) }),
      content: writeResultContent(part, { before, content: value?.content, shape: ANTHROPIC_RESULT }),
      is_error:
        part.outcome.status === "failed" ? true : value?.is_error === true ? undefined : value?.is_error,
    });
  },
};

/** Requests of Anthropic's Messages API, or their bare lists of messages. */
export const anthropic: WireFormat<AnthropicWire, AnthropicRequest> = /* @__PURE__ */ createBlockFormat<
  AnthropicWire,
  AnthropicMessage,
  UnknownObject,
  AnthropicRequest
>(anthropicAdapter, findAnthropicFaults);

type Blocks = readonly PlacedBlock<UnknownObject>[];

/** Brings a turn into the order that Anthropic asks for, with the thinking that it cannot do without. */
function normalizeAnthropicTurn(blocks: Blocks, context: TurnContext<AnthropicWire>): Blocks {
  return context.role === "user" ? resultsFirst(blocks) : keepThinkingOfLastCall(blocks, context);
}

/** Results come first in their message, also those without a call. */
function resultsFirst(blocks: Blocks): Blocks {
  const firstOther = blocks.findIndex(({ half }) => half !== "result");
  if (firstOther === -1 || blocks.findLastIndex(({ half }) => half === "result") < firstOther) return blocks;
  return [
    ...blocks.filter(({ half }) => half === "result"),
    ...blocks.filter(({ half }) => half !== "result"),
  ];
}

/**
 * The turn whose tools were just called must start with its thinking when thinking is on, but for models that bind it; a list
 * says neither.
 */
function keepThinkingOfLastCall(blocks: Blocks, { wire, isLast }: TurnContext<AnthropicWire>): Blocks {
  const isCalling = isLast && blocks.some(({ half }) => half === "call");
  const mayThink = Array.isArray(wire) || (isThinkingOn(wire) && !hasBoundThoughts(wire));
  const isKept = (isCalling && mayThink) || !blocks.some(({ hidden }) => hidden);
  const kept = isKept ? blocks : blocks.filter(({ hidden }) => hidden !== true);
  return isCalling ? thinkingFirst(kept) : kept;
}

/** Where an edit put a text before a turn that started with thinking, the thinking goes in front of both. */
function thinkingFirst(blocks: Blocks): Blocks {
  const start = blocks.findIndex((block) => isThinking(block) && block.index === 0);
  if (start <= 0 || blocks.slice(0, start).some(isThinking)) return blocks;
  const next = blocks.findIndex((block, index) => index > start && !isThinking(block));
  const end = next === -1 ? blocks.length : next;
  return [...blocks.slice(start, end), ...blocks.slice(0, start), ...blocks.slice(end)];
}

function isThinking({ part }: PlacedBlock<UnknownObject>): boolean {
  return part.type === "reasoning";
}

/** The messages with at most four cache marks, those on tools counted; the oldest on messages are removed first. The same reference when there are no more. */
function limitCacheMarks(
  items: readonly AnthropicMessage[],
  wire: AnthropicWire,
): readonly AnthropicMessage[] {
  const marksOnTools = asArray(asObject(wire).tools).filter(isMarked).length;
  let surplus =
    items.reduce((sum, item) => sum + countMarks(asObject(item).content), marksOnTools) - MAX_CACHE_MARKS;
  if (surplus <= 0) return items;
  const limited = [...items];
  const oldestFirst = [...items.keys()].sort((one, other) => rank(items, one) - rank(items, other));
  for (const index of oldestFirst) {
    const item = items[index];
    if (surplus <= 0 || item === undefined) break;
    const budget = { surplus };
    limited[index] = { ...item, content: unmark(item.content, budget) };
    surplus = budget.surplus;
  }
  return limited;
}

/** The system text is in every request, so its marks are the last to go. */
function rank(items: readonly AnthropicMessage[], index: number): number {
  return asObject(items[index]).role === "system" ? items.length + index : index;
}

function countMarks(content: unknown): number {
  let marks = 0;
  for (const block of asArray(content))
    marks += (isMarked(block) ? 1 : 0) + countMarks(asObject(block).content);
  return marks;
}

function unmark(content: unknown, budget: { surplus: number }): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((block) => {
    if (budget.surplus <= 0 || countMarks([block]) === 0) return block;
    const { cache_control: _, ...plain } = asObject(block);
    if (isMarked(block)) budget.surplus--;
    const kept: UnknownObject = isMarked(block) ? plain : asObject(block);
    return Array.isArray(kept.content) ? { ...kept, content: unmark(kept.content, budget) } : kept;
  });
}
