import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { ItemDraft, PlacedBlock, TurnContext } from "../../blocks/block-adapter.ts";
import { createBlockFormat, type WireFormat } from "../../blocks/create-block-format.ts";
import { writeArguments } from "../../content/call-arguments.ts";
import { writeResultContent } from "../../content/result-content.ts";
import { writeText } from "../../content/text-blocks.ts";
import { findOpenAIResponsesFaults } from "./find-faults.ts";
import {
  contentOf,
  continuesStoredResponse,
  inputField,
  MAX_CALL_ID_CHARS,
  RESPONSES_RESULT,
  type ResponsesRequest,
  type ResponsesRun,
  type ResponsesValue,
  type ResponsesWire,
  readResponsesRun,
  runsOf,
  shortCallId,
  textTypeOf,
  withRuns,
} from "./responses-run.ts";

/**
 * Requests of OpenAI's Responses API, or their bare lists of input items: a flat list in which each message, call,
 * output and thought is an item.
 */
export const openaiResponses: WireFormat<ResponsesWire, ResponsesRequest> = /* @__PURE__ */ createBlockFormat<
  ResponsesWire,
  ResponsesRun,
  ResponsesValue,
  ResponsesRequest
>(
  {
    name: "openai-responses",
    results: "apart",
    merges: () => "never",
    open: runsOf,
    close: withRuns,
    read: readResponsesRun,
    write: writeRun,
    normalizeTurn: keepReasoningWithItems,
    normalizeItems: dropRepeatedIds,
    continues: continuesStoredResponse,
    encoding: {
      list: "input",
      maxCallIdChars: MAX_CALL_ID_CHARS,
      notInToolNames: /[^a-zA-Z0-9_-]/g,
      detach: detachItem,
    },

    writePart(part, { role, value }) {
      // Reasoning is encrypted: it can be sent unchanged or not at all.
      if (part.type === "reasoning") return undefined;
      const old = value?.in === "content" ? value : undefined;
      const source = { role, ...(old !== undefined && { value: old.block }) };
      const block = writeText(part, source, textTypeOf(role));
      return block === undefined ? undefined : { in: "content", ...(old?.item && { item: old.item }), block };
    },

    writeCall({ callId, tool, input }, { value }) {
      const item = value?.item ?? { type: "function_call", call_id: callId };
      if (item.type === "item_reference") return { in: "item", item };
      const written = item.type === "function_call" ? writeArguments(input) : input;
      const name = item.type === "function_call" || item.name !== undefined ? { name: tool } : {};
      return { in: "item", item: { ...item, ...name, [inputField(item.type)]: written } };
    },

    renameCall(value, callId) {
      // What is stored at the provider keeps its id.
      if (value.in !== "item" || value.item.type === "item_reference") return value;
      return { in: "item", item: { ...value.item, call_id: shortCallId(callId) } };
    },

    writeResult(part, { before, value, call }) {
      const item = value?.item ?? { type: outputTypeOf(call), call_id: call?.item?.call_id ?? part.callId };
      // A screenshot cannot be replaced by text.
      if (item.type === "computer_call_output" && value !== undefined) return { in: "item", item };
      const output = writeResultContent(part, { before, content: item.output, shape: RESPONSES_RESULT });
      return { in: "item", item: { ...item, output } };
    },
  },
  findOpenAIResponsesFaults,
);

/** An item without the id by which the server would look for those that were beside it; undefined for one that needs it. */
function detachItem({ part, value }: Placed): ResponsesValue | undefined {
  const isReference = value.item?.type === "item_reference";
  if (part.type === "reasoning" || part.type === "opaque" || isReference) return undefined;
  return value.in === "content"
    ? { in: "content", block: value.block }
    : { in: "item", item: withoutId(value.item) };
}

function outputTypeOf(call: ResponsesValue | undefined): string {
  const type = call?.item?.type;
  return typeof type === "string" && type.endsWith("_call") ? `${type}_output` : "function_call_output";
}

function writeRun({ role, base, blocks }: ItemDraft<ResponsesRun, ResponsesValue>): readonly ResponsesRun[] {
  const items: UnknownObject[] = [];
  for (let index = 0; index < blocks.length; ) {
    const { value } = blocks[index] as PlacedBlock<ResponsesValue>;
    if (value.in === "item") {
      items.push(value.item);
      index++;
      continue;
    }
    const content: UnknownObject[] = [];
    for (; index < blocks.length; index++) {
      const next = blocks[index]?.value;
      if (next?.in !== "content" || next.item !== value.item) break;
      content.push(next.block);
    }
    items.push(writeMessage(role, value.item, content));
  }
  return [{ items, ...(base?.isInstructions && { isInstructions: true }) }];
}

function writeMessage(
  role: string,
  item: UnknownObject | undefined,
  content: readonly UnknownObject[],
): UnknownObject {
  if (item === undefined) return { type: "message", role, content };
  const old = contentOf(item);
  if (typeof item.content !== "string") {
    const isSame = old.length === content.length && old.every((block, index) => block === content[index]);
    return isSame ? item : { ...item, content };
  }
  const [only, ...others] = content;
  if (only?.type !== textTypeOf(item.role) || others.length > 0) return { ...item, content };
  return only.text === item.content ? item : { ...item, content: only.text };
}

/** Item ids must be unique: a repeated one is removed. */
function dropRepeatedIds(runs: readonly ResponsesRun[]): readonly ResponsesRun[] {
  const seen = new Set<unknown>();
  const isRepeated = ({ type, id }: UnknownObject): boolean => {
    if (id === undefined || id === null || type === "item_reference" || !seen.has(id)) {
      seen.add(id);
      return false;
    }
    return true;
  };
  let isChanged = false;
  const named = runs.map((run) => {
    const repeated = new Set(run.items.filter(isRepeated));
    if (repeated.size === 0) return run;
    isChanged = true;
    return { ...run, items: run.items.map((item) => (repeated.has(item) ? withoutId(item) : item)) };
  });
  return isChanged ? named : runs;
}

function withoutId(item: UnknownObject): UnknownObject {
  const { id: _, ...rest } = asObject(item);
  return rest;
}

type Placed = PlacedBlock<ResponsesValue>;

/**
 * Keeps reasoning together with the items produced from it: reasoning without such items is dropped, and items whose
 * reasoning is gone lose the id by which the server would look for it.
 */
function keepReasoningWithItems(
  blocks: readonly Placed[],
  { wire }: TurnContext<ResponsesWire>,
): readonly Placed[] {
  if (!blocks.some(isReasoning)) return blocks;
  const isUnstored = asObject(wire).store === false;
  const settled: Placed[] = [];
  let index = 0;
  while (index < blocks.length) {
    const reasoning: Placed[] = [];
    const made: Placed[] = [];
    for (; index < blocks.length && isReasoning(blocks[index]); index++) {
      if (reasoning.length > 0 && !isNext(reasoning.at(-1), blocks[index])) break;
      reasoning.push(blocks[index] as Placed);
    }
    for (; index < blocks.length && !isReasoning(blocks[index]); index++) made.push(blocks[index] as Placed);
    if (made.length === 0) continue;
    const kept = reasoning.filter(
      (block) => block.hidden !== true && !(isUnstored && isReferenceOnly(block)),
    );
    if (kept.length === reasoning.length) settled.push(...reasoning, ...made);
    // Items that only the server can read need their id, and the id needs the reasoning.
    else if (made.some(isServerItem)) settled.push(...reasoning, ...made);
    else settled.push(...kept, ...withoutIds(made));
  }
  return settled.length === blocks.length && settled.every((block, place) => block === blocks[place])
    ? blocks
    : settled;
}

function isReasoning(block: Placed | undefined): boolean {
  return block?.part.type === "reasoning";
}

/** True for two blocks that were adjacent in the wire. */
function isNext(one: Placed | undefined, other: Placed | undefined): boolean {
  return one?.index !== undefined && one.item === other?.item && one.index + 1 === other?.index;
}

function isReferenceOnly({ value }: Placed): boolean {
  return value.in === "item" && !asString(value.item.encrypted_content);
}

function isServerItem({ part, value }: Placed): boolean {
  return part.type === "opaque" && value.in === "item";
}

function withoutIds(blocks: readonly Placed[]): readonly Placed[] {
  const nameless = new Map<UnknownObject, UnknownObject>();
  return blocks.map((block) => {
    const { item } = block.value;
    if (item?.id === undefined) return block;
    const plain = nameless.get(item) ?? withoutId(item);
    nameless.set(item, plain);
    return { ...block, value: { ...block.value, item: plain }, changed: true };
  });
}
