import { safeJson } from "../../text/safe-json.ts";
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
  return [
    ...findSealedFaults({ rule: "gemini-44", before: signedParts(old), after: signedParts(now) }),
    ...loopFaults(interruptions(old), interruptions(now)),
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

/** gemini-46: what an edit put between the steps of a tool loop; in place of what stood there before, it does no harm. */
function loopFaults(before: readonly Interruption[], after: readonly Interruption[]): readonly Fault[] {
  const isNew = (those: readonly Interruption[]) => {
    const known = new Set(those.flatMap((blocks) => blocks.map(({ wire }) => safeJson(wire))));
    return (blocks: Interruption) => !blocks.some(({ wire }) => known.has(safeJson(wire)));
  };
  const replaced = before.filter(isNew(after)).length;
  return after
    .filter(isNew(before))
    .slice(replaced)
    .map(([first]) =>
      faultAt(
        "gemini-46",
        first ?? { messageId: "" },
        "what the user says inside a tool loop ends the turn: put it before the loop",
      ),
    );
}

/** What the user says between one step with calls and the next. */
type Interruption = readonly WireBlock[];

function interruptions(messages: readonly WireMessage[]): readonly Interruption[] {
  const found: Interruption[] = [];
  let said: WireBlock[] = [];
  let isInLoop = false;
  for (const { side, blocks } of messages) {
    if (side !== "assistant") {
      said.push(...blocks.filter((block) => block.type !== "result"));
      continue;
    }
    const isStep = blocks.some((block) => block.type === "call");
    if (isInLoop && isStep && said.length > 0) found.push(said);
    said = [];
    isInLoop = isStep;
  }
  return found;
}
