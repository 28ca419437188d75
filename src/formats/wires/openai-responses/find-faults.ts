import { jsonOrText } from "../../../text/json.ts";
import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { Fault, ProviderRule } from "../../../transcript/format.ts";
import { contentBlocks } from "../../blocks/message-content.ts";
import {
  faultAt,
  findCommonFaults,
  type WireBlock,
  type WireMessage,
} from "../../faults/find-common-faults.ts";

/**
 * What OpenAI's Responses API would refuse in a request, or in its bare list of input items, and what it would bill for
 * nothing. Checks common-01 to common-12 and openai-responses-33, 34, 36, 38 and 39.
 */
export function findOpenAIResponsesFaults(wire: unknown): readonly Fault[] {
  const items = responsesItems(wire).map(asObject);
  const isContinued = refersToEarlier(wire, items);
  const faults = [
    ...findCommonFaults(readOpenAIResponsesWire(wire)),
    ...pairFaults(items),
    ...reasoningFaults(items),
    ...(asObject(wire).store === false ? unstoredFaults(items) : []),
    ...idFaults(items),
    ...compactionFaults(items),
  ];
  return isContinued ? faults.filter((fault) => !ABOUT_WHAT_CAME_BEFORE.includes(fault.rule)) : faults;
}

/** True when calls may be in a response that the server stores, so that their absence here is no fault. */
function refersToEarlier(wire: unknown, items: readonly UnknownObject[]): boolean {
  const { previous_response_id: previous, conversation } = asObject(wire);
  return Boolean(previous ?? conversation) || items.some((item) => item.type === "item_reference");
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
function* pairFaults(items: readonly UnknownObject[]): Generator<Fault> {
  const open = new Map<string, number>();
  for (const [index, { type, call_id: id }] of items.entries()) {
    const callId = asString(id) ?? "";
    if (isCall(type)) open.set(callId, index);
    else if (isOutput(type) && !open.delete(callId))
      yield faultOf("openai-responses-33", index, `an output without the call ${callId}: leave it out`);
  }
  for (const [callId, index] of open)
    yield faultOf("openai-responses-33", index, `call ${callId} has no output: add one`);
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

function isMadeByModel({ type, role }: UnknownObject): boolean {
  if (type === "message" || type === undefined) return role === "assistant";
  return !isOutput(type) && type !== "compaction";
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

/** The longest call id that the API takes. */
export const MAX_CALL_ID_CHARS = 64;

/** openai-responses-39: items before a compaction item are billed again. */
function compactionFaults(items: readonly UnknownObject[]): readonly Fault[] {
  const last = items.findLastIndex((item) => item.type === "compaction");
  return last > 0
    ? [faultOf("openai-responses-39", last, `${last} items before a compaction: leave them out`)]
    : [];
}

/** The input items of a Responses request as the rules see them: what the model produced in one run is one message; total. */
export function readOpenAIResponsesWire(wire: unknown): readonly WireMessage[] {
  const messages: (WireMessage & { readonly blocks: WireBlock[] })[] = [];
  let joins: Joins;
  for (const [index, item] of responsesItems(wire).entries()) {
    const messageId = `input[${index}]`;
    const { side, joinsWith, isCutOff } = describe(item);
    const blocks = readItem(item, messageId);
    const last = messages.at(-1);
    if (last !== undefined && joinsWith !== undefined && joinsWith === joins) last.blocks.push(...blocks);
    else messages.push({ messageId, side, blocks: [...blocks], ...(isCutOff && { isCutOff }) });
    joins = joinsWith;
  }
  return messages;
}

/** The items of a request; a bare text counts as a user's message. */
export function responsesItems(wire: unknown): readonly unknown[] {
  const input = Array.isArray(wire) ? wire : asObject(wire).input;
  if (Array.isArray(input)) return input;
  return typeof input === "string" ? [{ role: "user", content: input }] : [];
}

/** Neighbours of one kind are one message. */
type Joins = "turn" | "results" | undefined;

function describe(item: unknown): {
  readonly side: WireMessage["side"];
  readonly joinsWith: Joins;
  readonly isCutOff: true | undefined;
} {
  const { type, role, status } = asObject(item);
  const isCutOff = status === "incomplete" || status === "failed" ? true : undefined;
  if (isOutput(type)) return { side: "user", joinsWith: "results", isCutOff: undefined };
  if (type === "message" || type === undefined) {
    if (role === "assistant") return { side: "assistant", joinsWith: "turn", isCutOff };
    const side = role === "system" || role === "developer" ? "system" : "user";
    return { side, joinsWith: undefined, isCutOff: undefined };
  }
  if (type === "compaction") return { side: "system", joinsWith: undefined, isCutOff: undefined };
  return { side: "assistant", joinsWith: "turn", isCutOff };
}

/** True for the type of an item that is the result of a call. */
export function isOutput(type: unknown): boolean {
  return typeof type === "string" && type.endsWith("_call_output");
}

/** True for the type of an item that calls a tool of the client and waits for a result. */
export function isCall(type: unknown): boolean {
  return CALLS.includes(type);
}

const CALLS: readonly unknown[] = [
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
];

function readItem(item: unknown, messageId: string): readonly WireBlock[] {
  const { type, call_id: callId, name, arguments: input, input: text, output, content } = asObject(item);
  const place = { messageId, wire: item };
  const id = asString(callId) ?? "";
  if (isCall(type)) return [{ ...place, type: "call", callId: id, read: [name, jsonOrText(input), text] }];
  if (isOutput(type)) {
    const read = contentBlocks(output).map((block) => asObject(block).text);
    return [{ ...place, type: "result", callId: id, read }];
  }
  if (type === "reasoning") return [{ ...place, type: "reasoning" }];
  if (type !== "message" && type !== undefined) return [{ ...place, type: "opaque" }];
  return contentBlocks(content).map((block, partIndex): WireBlock => {
    const { type: kind, text: words, refusal } = asObject(block);
    const here = { messageId, partIndex, wire: block };
    if (TEXTS.includes(kind)) return { ...here, type: "text", read: words ?? refusal };
    return { ...here, type: MEDIA.includes(kind) ? "media" : "opaque" };
  });
}

const TEXTS: readonly unknown[] = ["text", "input_text", "output_text", "refusal"];
/** The types of blocks that are no text. */
export const MEDIA: readonly unknown[] = ["input_image", "input_file", "input_audio"];
