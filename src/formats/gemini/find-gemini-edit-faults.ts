import type { Fault } from "../../transcript/find-faults.ts";
import { fields, stringField } from "../fields.ts";
import { type EditExpectation, findCommonEditFaults } from "../wire-faults/find-common-edit-faults.ts";
import { findSealedFaults, type Sealed } from "../wire-faults/find-sealed-faults.ts";
import { faultAt, type WireBlock, type WireMessage } from "../wire-faults/wire-message.ts";
import { NO_SIGNATURES, readGeminiWire } from "./read-gemini-wire.ts";

/** What an edit broke between a Gemini wire before and after it: gemini-44 and gemini-46, and what else is expected of the edit. */
export function findGeminiEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  const [old, now] = [readGeminiWire(before), readGeminiWire(after)];
  const known = new Set(textsInLoops(old).map((block) => block.read));
  return [
    ...findSealedFaults({ rule: "gemini-44", before: signedParts(old), after: signedParts(now) }),
    ...textsInLoops(now)
      .filter((block) => !known.has(block.read))
      .map((block) =>
        faultAt("gemini-46", block, "a user's text inside a tool loop ends the turn: put it before the loop"),
      ),
    ...findCommonEditFaults(old, now, expected),
  ];
}

function signedParts(messages: readonly WireMessage[]): readonly Sealed[] {
  return messages.flatMap(({ blocks }) =>
    blocks.flatMap((block) => {
      const seal = stringField(fields(block.wire).thoughtSignature);
      return seal === undefined || NO_SIGNATURES.includes(seal) ? [] : [{ ...block, seal }];
    }),
  );
}

/** The user's texts that stand between the results of one step and the calls of the next. */
function textsInLoops(messages: readonly WireMessage[]): readonly WireBlock[] {
  const inLoops: WireBlock[] = [];
  let texts: WireBlock[] = [];
  let isBehindResult = false;
  for (const { side, blocks } of messages) {
    if (side === "assistant") {
      if (isBehindResult && blocks.some((block) => block.type === "call")) inLoops.push(...texts);
      texts = [];
      isBehindResult = false;
      continue;
    }
    if (blocks.some((block) => block.type === "result")) isBehindResult = true;
    texts.push(...blocks.filter((block) => block.type === "text"));
  }
  return inLoops;
}
