import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { Fault, ProviderRule } from "../../../transcript/format.ts";
import { findCommonFaults } from "../../faults/find-common-faults.ts";
import {
  faultAt,
  type Located,
  type WireBlock,
  type WireMessage,
  type WirePlace,
  wireMessage,
} from "../../faults/wire-message.ts";
import {
  continuesStoredResponse,
  isMadeByModel,
  MAX_CALL_ID_CHARS,
  type ResponsesValue,
  type ResponsesWire,
  readResponsesItem,
  responsesItems,
  runsOf,
} from "./responses-run.ts";

/**
 * What OpenAI's Responses API would refuse in a request, or in its bare list of input items, and what it would bill for
 * nothing. Checks common-01 to common-12 and openai-responses-33, 34, 36, 38 and 39.
 */
export function findOpenAIResponsesFaults(wire: unknown): readonly Fault[] {
  const items = responsesItems(wire).map(asObject);
  const messages = readOpenAIResponsesWire(wire);
  const faults = [
    ...findCommonFaults(messages),
    ...pairFaults(messages.flatMap(({ blocks }) => blocks)),
    ...reasoningFaults(items),
    ...(asObject(wire).store === false ? unstoredFaults(items) : []),
    ...idFaults(items),
    ...compactionFaults(items),
  ];
  // A call may be in a response that the server stores, so that its absence here is no fault.
  const isContinued =
    continuesStoredResponse(wire as ResponsesWire) || items.some(({ type }) => type === "item_reference");
  return isContinued ? faults.filter((fault) => !ABOUT_WHAT_CAME_BEFORE.includes(fault.rule)) : faults;
}

const ABOUT_WHAT_CAME_BEFORE: readonly string[] = [
  "common-01",
  "common-05",
  "common-09",
  "openai-responses-33",
];

const faultOf = (rule: ProviderRule, index: number, text: string): Fault =>
  faultAt(rule, { messageId: `input[${index}]` }, text);

/** openai-responses-33: each output has its call before it, each call its output behind it. */
function* pairFaults(blocks: readonly WireBlock[]): Generator<Fault> {
  const open = new Map<string, WirePlace>();
  for (const { type, callId = "", messageId } of blocks) {
    if (type === "call") open.set(callId, { messageId });
    else if (type === "result" && !open.delete(callId))
      yield faultAt(
        "openai-responses-33",
        { messageId },
        `an output without the call ${callId}: leave it out`,
      );
  }
  for (const [callId, place] of open)
    yield faultAt("openai-responses-33", place, `call ${callId} has no output: add one`);
}

/** openai-responses-34: reasoning is followed by the item that was produced with it. */
function reasoningFaults(items: readonly UnknownObject[]): readonly Fault[] {
  return items.flatMap(({ type }, index) => {
    const next = items[index + 1];
    const isFollowed = next !== undefined && isMadeByModel(next);
    return type === "reasoning" && !isFollowed
      ? [faultOf("openai-responses-34", index, "reasoning without what came of it: leave it out")]
      : [];
  });
}

/** openai-responses-36: with `store: false`, items cannot be referred to by id. */
function* unstoredFaults(items: readonly UnknownObject[]): Generator<Fault> {
  for (const [index, { type, encrypted_content: sealed }] of items.entries()) {
    if (type === "reasoning" && !asString(sealed))
      yield faultOf("openai-responses-36", index, "unstored reasoning without its content: leave it out");
    if (type === "item_reference")
      yield faultOf("openai-responses-36", index, "a reference to what is not stored: send the item itself");
  }
}

/** openai-responses-38: ids are short and occur once. */
function* idFaults(items: readonly UnknownObject[]): Generator<Fault> {
  const seen = new Set<string>();
  for (const [index, { id, call_id: callId }] of items.entries()) {
    if ((asString(callId)?.length ?? 0) > MAX_CALL_ID_CHARS)
      yield faultOf(
        "openai-responses-38",
        index,
        `a call id of more than ${MAX_CALL_ID_CHARS} characters: rename both sides`,
      );
    const itemId = asString(id);
    if (itemId === undefined) continue;
    if (seen.has(itemId))
      yield faultOf("openai-responses-38", index, `item ${itemId} is there twice: keep one`);
    seen.add(itemId);
  }
}

/** openai-responses-39: items before a compaction item are billed again. */
function compactionFaults(items: readonly UnknownObject[]): readonly Fault[] {
  const last = items.findLastIndex((item) => item.type === "compaction");
  return last > 0
    ? [faultOf("openai-responses-39", last, `${last} items before a compaction: leave them out`)]
    : [];
}

/** The input items of a Responses request as the rules see them: what the model produced in one run is one message; total. */
export function readOpenAIResponsesWire(wire: unknown): readonly WireMessage[] {
  let index = 0;
  return runsOf(wire as ResponsesWire).flatMap((run) => {
    if (run.isInstructions) return [];
    const items = run.items.map((item) =>
      wireMessage(readResponsesItem(item, run), `input[${index++}]`, locate),
    );
    const [first] = items;
    if (first === undefined) return [];
    const isCutOff = first.side === "assistant" && BROKEN_OFF.includes(run.items[0]?.status);
    return { ...first, blocks: items.flatMap(({ blocks }) => blocks), ...(isCutOff && { isCutOff }) };
  });
}

const BROKEN_OFF: readonly unknown[] = ["incomplete", "failed"];

function locate(value: ResponsesValue, partIndex: number): Located {
  // Whether a call that the server stores is answered in time only the server knows.
  if (value.in === "item")
    return { wire: value.item, ...(value.item.type === "item_reference" && { type: "other" as const }) };
  const { block } = value;
  const refusal = block.type === "refusal" && { type: "text" as const, read: block.refusal };
  return { wire: block, partIndex, ...refusal };
}
