import type { Fault } from "../../transcript/find-faults.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { type EditExpectation, findCommonEditFaults } from "../wire-faults/find-common-edit-faults.ts";
import { findSealedFaults, type Sealed } from "../wire-faults/find-sealed-faults.ts";
import { faultAt } from "../wire-faults/wire-message.ts";
import { readOpenAIResponsesWire, responsesItems } from "./read-openai-responses-wire.ts";

/** What an edit broke between a Responses wire before and after it: openai-responses-35 and 37, and what else is expected of the edit. */
export function findOpenAIResponsesEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  const [old, now] = [before, after].map((wire) => responsesItems(wire).map(fields));
  return [
    ...lostReasoningFaults(old ?? [], now ?? []),
    ...findSealedFaults({
      rule: "openai-responses-37",
      before: sealedItems(old ?? []),
      after: sealedItems(now ?? []),
    }),
    ...findCommonEditFaults(readOpenAIResponsesWire(before), readOpenAIResponsesWire(after), expected),
  ];
}

/** An item with an id whose reasoning is gone: the server looks for the two together. */
function lostReasoningFaults(before: readonly Fields[], after: readonly Fields[]): readonly Fault[] {
  const reasoningOf = new Map<string, string>();
  for (const [index, item] of before.entries()) {
    const [id, reasoning] = [stringField(item.id), before[index - 1]];
    const reasoningId = reasoning?.type === "reasoning" ? stringField(reasoning.id) : undefined;
    if (id !== undefined && reasoningId !== undefined) reasoningOf.set(id, reasoningId);
  }
  return after.flatMap((item, index) => {
    const id = stringField(item.id);
    const wanted = id === undefined ? undefined : reasoningOf.get(id);
    return wanted !== undefined && after[index - 1]?.id !== wanted
      ? [
          faultAt(
            "openai-responses-35",
            { messageId: `input[${index}]` },
            `${id} is there without its reasoning ${wanted}: take its id off`,
          ),
        ]
      : [];
  });
}

function sealedItems(items: readonly Fields[]): readonly Sealed[] {
  return items.flatMap((item, index) => {
    const seal = stringField(item.encrypted_content);
    return seal === undefined ? [] : [{ messageId: `input[${index}]`, seal, wire: item }];
  });
}
