import type { BlockAdapter, ItemDraft, PlacedBlock } from "../blocks/block-adapter.ts";
import { writeArguments } from "../blocks/call-arguments.ts";
import { writeResultContent } from "../blocks/result-content.ts";
import { writeText } from "../blocks/write-text.ts";
import { type Fields, fields } from "../fields.ts";
import type { ResponsesWire } from "./openai-responses-wire.ts";
import {
  contentOf,
  inputField,
  RESPONSES_RESULT,
  type ResponsesValue,
  readResponsesRun,
  textTypeOf,
} from "./read-responses-run.ts";
import { continuesEarlier, type ResponsesRun, runsOf, withRuns } from "./responses-run.ts";
import { settleReasoning } from "./settle-reasoning.ts";

/** How OpenAI's Responses API writes a conversation: a flat list in which each message, call, output and thought is an item. */
export const openaiResponsesAdapter: BlockAdapter<ResponsesWire, ResponsesRun, ResponsesValue> = {
  name: "openai-responses",
  results: "apart",
  merges: () => false,
  open: runsOf,
  close: withRuns,
  read: readResponsesRun,
  write: writeRun,
  settle: settleReasoning,
  finish: nameEachOnce,
  continues: continuesEarlier,

  writePart(part, { role, value }) {
    // A thought is sealed: it can be sent as it came or not at all.
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

  writeResult(part, { before, value, call }) {
    const item = value?.item ?? { type: outputTypeOf(call), call_id: call?.item?.call_id ?? part.callId };
    // Nothing but a screenshot can stand for a screenshot.
    if (item.type === "computer_call_output" && value !== undefined) return { in: "item", item };
    const output = writeResultContent(part, { before, content: item.output, shape: RESPONSES_RESULT });
    return { in: "item", item: { ...item, output } };
  },
};

function outputTypeOf(call: ResponsesValue | undefined): string {
  const type = call?.item?.type;
  return typeof type === "string" && type.endsWith("_call") ? `${type}_output` : "function_call_output";
}

function writeRun({ role, base, blocks }: ItemDraft<ResponsesRun, ResponsesValue>): readonly ResponsesRun[] {
  const items: Fields[] = [];
  for (let index = 0; index < blocks.length; ) {
    const { value } = blocks[index] as PlacedBlock<ResponsesValue>;
    if (value.in === "item") {
      items.push(value.item);
      index++;
      continue;
    }
    const content: Fields[] = [];
    for (; index < blocks.length; index++) {
      const next = blocks[index]?.value;
      if (next?.in !== "content" || next.item !== value.item) break;
      content.push(next.block);
    }
    items.push(writeMessage(role, value.item, content));
  }
  return [{ items, ...(base?.isInstructions && { isInstructions: true }) }];
}

function writeMessage(role: string, item: Fields | undefined, content: readonly Fields[]): Fields {
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

/** Item ids occur once: a second item of the same name goes without. */
function nameEachOnce(runs: readonly ResponsesRun[]): readonly ResponsesRun[] {
  const seen = new Set<unknown>();
  const isRepeated = ({ type, id }: Fields): boolean => {
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

function withoutId(item: Fields): Fields {
  const { id: _, ...rest } = fields(item);
  return rest;
}
