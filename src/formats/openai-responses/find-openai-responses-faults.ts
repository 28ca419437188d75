import type { Fault } from "../../transcript/find-faults.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { findCommonFaults } from "../wire-faults/find-common-faults.ts";
import { faultAt, type WirePlace } from "../wire-faults/wire-message.ts";
import { isCall, isOutput, readOpenAIResponsesWire, responsesItems } from "./read-openai-responses-wire.ts";

/**
 * What OpenAI's Responses API would refuse in a request, or in its bare list of input items, and what it would bill for
 * nothing. Checks common-01 to common-12 and openai-responses-33, 34, 36, 38 and 39.
 */
export function findOpenAIResponsesFaults(wire: unknown): readonly Fault[] {
  const items = responsesItems(wire).map(fields);
  const isContinued = refersToEarlier(wire, items);
  const faults = [
    ...findCommonFaults(readOpenAIResponsesWire(wire)),
    ...pairFaults(items),
    ...reasoningFaults(items),
    ...(fields(wire).store === false ? unstoredFaults(items) : []),
    ...idFaults(items),
    ...compactionFaults(items),
  ];
  return isContinued ? faults.filter((fault) => !ABOUT_WHAT_CAME_BEFORE.includes(fault.rule)) : faults;
}

/** True when calls may stand in a response that the server keeps, so that they cannot be missed here. */
function refersToEarlier(wire: unknown, items: readonly Fields[]): boolean {
  const { previous_response_id: previous, conversation } = fields(wire);
  return Boolean(previous ?? conversation) || items.some((item) => item.type === "item_reference");
}

const ABOUT_WHAT_CAME_BEFORE: readonly string[] = [
  "common-01",
  "common-05",
  "common-09",
  "openai-responses-33",
];

const placeOf = (index: number): WirePlace => ({ messageId: `input[${index}]` });

/** openai-responses-33: each output has its call before it, each call its output behind it. */
function pairFaults(items: readonly Fields[]): readonly Fault[] {
  const faults: Fault[] = [];
  const open = new Map<string, number>();
  for (const [index, { type, call_id: id }] of items.entries()) {
    const callId = stringField(id) ?? "";
    if (isCall(type)) open.set(callId, index);
    else if (isOutput(type) && !open.delete(callId))
      faults.push(
        faultAt("openai-responses-33", placeOf(index), `an output without the call ${callId}: leave it out`),
      );
  }
  for (const [callId, index] of open)
    faults.push(faultAt("openai-responses-33", placeOf(index), `call ${callId} has no output: add one`));
  return faults;
}

/** openai-responses-34: behind reasoning comes what it was made with. */
function reasoningFaults(items: readonly Fields[]): readonly Fault[] {
  return items.flatMap(({ type }, index) => {
    const next = items[index + 1];
    const isFollowed = next !== undefined && isMadeByModel(next);
    return type === "reasoning" && !isFollowed
      ? [faultAt("openai-responses-34", placeOf(index), "reasoning without what came of it: leave it out")]
      : [];
  });
}

function isMadeByModel({ type, role }: Fields): boolean {
  if (type === "message" || type === undefined) return role === "assistant";
  return !isOutput(type) && type !== "compaction";
}

/** openai-responses-36: what is not stored cannot be named. */
function unstoredFaults(items: readonly Fields[]): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [index, { type, encrypted_content: sealed }] of items.entries()) {
    if (type === "reasoning" && !stringField(sealed))
      faults.push(
        faultAt(
          "openai-responses-36",
          placeOf(index),
          "unstored reasoning without its content: leave it out",
        ),
      );
    if (type === "item_reference")
      faults.push(
        faultAt(
          "openai-responses-36",
          placeOf(index),
          "a reference to what is not stored: send the item itself",
        ),
      );
  }
  return faults;
}

/** openai-responses-38: ids are short and occur once. */
function idFaults(items: readonly Fields[]): readonly Fault[] {
  const faults: Fault[] = [];
  const seen = new Set<string>();
  for (const [index, { id, call_id: callId }] of items.entries()) {
    if ((stringField(callId)?.length ?? 0) > MAX_CALL_ID_CHARS)
      faults.push(
        faultAt(
          "openai-responses-38",
          placeOf(index),
          `a call id of more than ${MAX_CALL_ID_CHARS} characters: rename both sides`,
        ),
      );
    const itemId = stringField(id);
    if (itemId === undefined) continue;
    if (seen.has(itemId))
      faults.push(faultAt("openai-responses-38", placeOf(index), `item ${itemId} is there twice: keep one`));
    seen.add(itemId);
  }
  return faults;
}

const MAX_CALL_ID_CHARS = 64;

/** openai-responses-39: what stands before a compaction item is billed again. */
function compactionFaults(items: readonly Fields[]): readonly Fault[] {
  const last = items.findLastIndex((item) => item.type === "compaction");
  return last > 0
    ? [faultAt("openai-responses-39", placeOf(last), `${last} items before a compaction: leave them out`)]
    : [];
}
