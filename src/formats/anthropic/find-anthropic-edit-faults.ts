import type { Fault } from "../../transcript/find-faults.ts";
import { fields, stringField } from "../fields.ts";
import { type EditExpectation, findCommonEditFaults } from "../wire-faults/find-common-edit-faults.ts";
import { findSealedFaults, type Sealed } from "../wire-faults/find-sealed-faults.ts";
import type { WireMessage } from "../wire-faults/wire-message.ts";
import { readAnthropicWire } from "./read-anthropic-wire.ts";

/** What an edit broke between an Anthropic wire before and after it: anthropic-21, and what else is expected of the edit. */
export function findAnthropicEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  const [old, now] = [readAnthropicWire(before), readAnthropicWire(after)];
  return [
    ...findSealedFaults({ rule: "anthropic-21", before: thinkingOf(old), after: thinkingOf(now) }),
    ...findCommonEditFaults(old, now, expected),
  ];
}

function thinkingOf(messages: readonly WireMessage[]): readonly Sealed[] {
  return messages.flatMap(({ blocks }) =>
    blocks.flatMap((block) => {
      const { signature, data } = fields(block.wire);
      const seal = stringField(signature) ?? stringField(data) ?? "";
      return block.type === "reasoning" ? [{ ...block, seal }] : [];
    }),
  );
}
