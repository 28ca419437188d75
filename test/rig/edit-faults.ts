import { NO_SIGNATURES } from "../../src/formats/blocks/thought-signature.ts";
import { someString } from "../../src/formats/faults/some-string.ts";
import {
  faultAt,
  type WireBlock,
  type WireMessage,
  type WirePlace,
} from "../../src/formats/faults/wire-message.ts";
import { readAnthropicWire, signatureOf } from "../../src/formats/wires/anthropic/find-faults.ts";
import { readGeminiWire } from "../../src/formats/wires/gemini/find-faults.ts";
import { readOpenAIChatWire } from "../../src/formats/wires/openai-chat/find-faults.ts";
import { readOpenAIResponsesWire } from "../../src/formats/wires/openai-responses/find-faults.ts";
import { responsesItems } from "../../src/formats/wires/openai-responses/responses-run.ts";
import { safeJson } from "../../src/text/json.ts";
import { asObject, asString, type UnknownObject } from "../../src/text/unknown-value.ts";
import type { Fault, ProviderRule } from "../../src/transcript/format.ts";

/*
 * What an edit must keep of a provider's wire. No wire shows this alone: it takes the one before and the one after, so
 * it is the tests of edits that ask, and never a program before it sends.
 */

/** What is expected of an edit beyond the rules that always hold. */
export interface EditExpectation {
  /** common-15: the edit was made to save room. */
  readonly size?: "not-larger";
  /** common-17: the newest request of the user is still there, word for word. */
  readonly newestRequest?: "verbatim";
  /** common-18: the number of messages before the first edit, which may not change by a byte. */
  readonly unchangedMessages?: number;
}

/** What an edit broke between an Anthropic wire before and after it: anthropic-21, and what else is expected of the edit. */
export function findAnthropicEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  const [old, now] = [readAnthropicWire(before), readAnthropicWire(after)];
  return [
    ...findSignedContentFaults({
      rule: "anthropic-21",
      before: signedThinking(old),
      after: signedThinking(now),
    }),
    ...findCommonEditFaults(old, now, expected),
  ];
}

function signedThinking(messages: readonly WireMessage[]): readonly SignedContent[] {
  return messages.flatMap(({ blocks }) =>
    blocks
      .filter((block) => block.type === "reasoning")
      .map((block) => ({ ...block, signature: signatureOf(block) ?? "" })),
  );
}

/** What an edit broke between a chat completions wire before and after it: nothing in it is signed, so only what is expected of the edit. */
export function findOpenAIChatEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  return [...findCommonEditFaults(readOpenAIChatWire(before), readOpenAIChatWire(after), expected)];
}

/** What an edit broke between a Responses wire before and after it: openai-responses-35 and 37, and what else is expected of the edit. */
export function findOpenAIResponsesEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  const [old, now] = [before, after].map((wire) => responsesItems(wire).map(asObject));
  return [
    ...lostReasoningFaults(old ?? [], now ?? []),
    ...findSignedContentFaults({
      rule: "openai-responses-37",
      before: encryptedItems(old ?? []),
      after: encryptedItems(now ?? []),
    }),
    ...findCommonEditFaults(readOpenAIResponsesWire(before), readOpenAIResponsesWire(after), expected),
  ];
}

/** An item with an id whose reasoning is gone: the server looks for the two together. */
function lostReasoningFaults(
  before: readonly UnknownObject[],
  after: readonly UnknownObject[],
): readonly Fault[] {
  const reasoningOf = new Map<string, string>();
  for (const [index, item] of before.entries()) {
    const [id, reasoning] = [asString(item.id), before[index - 1]];
    const reasoningId = reasoning?.type === "reasoning" ? asString(reasoning.id) : undefined;
    if (id !== undefined && reasoningId !== undefined) reasoningOf.set(id, reasoningId);
  }
  return after.flatMap((item, index) => {
    const id = asString(item.id);
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

function encryptedItems(items: readonly UnknownObject[]): readonly SignedContent[] {
  return items.flatMap((item, index) => {
    const signature = asString(item.encrypted_content);
    return signature === undefined ? [] : [{ messageId: `input[${index}]`, signature, wire: item }];
  });
}

/** What an edit broke between a Gemini wire before and after it: gemini-44 and gemini-46, and what else is expected of the edit. */
export function findGeminiEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  const [old, now] = [readGeminiWire(before), readGeminiWire(after)];
  return [
    ...findSignedContentFaults({ rule: "gemini-44", before: signedParts(old), after: signedParts(now) }),
    ...loopFaults(interruptions(old), interruptions(now)),
    ...findCommonEditFaults(old, now, expected),
  ];
}

function signedParts(messages: readonly WireMessage[]): readonly SignedContent[] {
  return messages.flatMap(({ blocks }) =>
    blocks.flatMap((block) => {
      const signature = asString(asObject(block.wire).thoughtSignature);
      return signature === undefined || NO_SIGNATURES.includes(signature) ? [] : [{ ...block, signature }];
    }),
  );
}

/** gemini-46: user content that an edit added between the steps of a tool loop; replacing what was there is allowed. */
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
    // An answer of thoughts alone says nothing, so it ends no loop, whether an edit takes it out or not.
    if (blocks.every(({ type, read }) => type === "reasoning" || (type === "text" && read === ""))) continue;
    const isStep = blocks.some((block) => block.type === "call");
    if (isInLoop && isStep && said.length > 0) found.push(said);
    said = [];
    isInLoop = isStep;
  }
  return found;
}

/** Rules common-15, common-17 and common-18 on a wire before and after an edit, as far as they are expected of it. */
function* findCommonEditFaults(
  before: readonly WireMessage[],
  after: readonly WireMessage[],
  { size, newestRequest, unchangedMessages = 0 }: EditExpectation = {},
): Generator<Fault> {
  const [charsBefore, charsAfter] = [charsOf(before), charsOf(after)];
  if (size === "not-larger" && charsAfter > charsBefore)
    yield faultAt(
      "common-15",
      { messageId: "" },
      `${charsBefore} chars became ${charsAfter}: take the edit back`,
    );
  const request = newestRequest === "verbatim" ? newestRequestOf(before) : undefined;
  if (request !== undefined && !textsOf(after).some((text) => text.includes(request)))
    yield faultAt("common-17", { messageId: "" }, "the newest request is gone or changed: keep it whole");
  for (const [index, message] of before.slice(0, unchangedMessages).entries()) {
    const same = after[index];
    if (same !== undefined && safeJson(wireOf(same)) === safeJson(wireOf(message))) continue;
    yield faultAt("common-18", message, "it stands before the first edit and changed: leave it alone");
    break;
  }
}

function wireOf({ side, blocks }: WireMessage): unknown {
  return [side, blocks.map((block) => block.wire)];
}

function charsOf(messages: readonly WireMessage[]): number {
  let chars = 0;
  for (const { blocks } of messages) {
    for (const block of blocks) {
      someString(block.read, (text) => {
        chars += text.length;
        return false;
      });
    }
  }
  return chars;
}

function textsOf(messages: readonly WireMessage[]): readonly string[] {
  return messages.flatMap((message) =>
    message.side === "user"
      ? message.blocks.flatMap(({ type, read }) =>
          type === "text" && typeof read === "string" ? [read] : [],
        )
      : [],
  );
}

function newestRequestOf(messages: readonly WireMessage[]): string | undefined {
  return textsOf(messages).findLast((text) => text.trim() !== "");
}

/** A piece of a wire that its provider has signed or encrypted: it is sent as it came, or not at all. */
interface SignedContent extends WirePlace {
  readonly signature: string;
  /** Everything that the signature covers. */
  readonly wire: unknown;
}

interface SignedContentEdit {
  readonly rule: ProviderRule;
  readonly before: readonly SignedContent[];
  readonly after: readonly SignedContent[];
}

/** Signed content that an edit has changed, invented or reordered within its message. */
function* findSignedContentFaults({ rule, before, after }: SignedContentEdit): Generator<Fault> {
  const known = new Map<string, Map<string, Origin>>();
  for (const [index, { signature, wire, messageId }] of before.entries()) {
    const shapes = known.get(signature) ?? new Map<string, Origin>();
    known.set(signature, shapes);
    const shape = safeJson(wire);
    if (!shapes.has(shape)) shapes.set(shape, { messageId, index });
  }
  let last: Origin | undefined;
  for (const signed of after) {
    const shapes = known.get(signed.signature);
    const origin = shapes?.get(safeJson(signed.wire));
    if (shapes === undefined)
      yield faultAt(rule, signed, "a signature that nothing had before: leave it out");
    else if (origin === undefined)
      yield faultAt(rule, signed, "signed content was changed: send it as it came");
    else if (last?.messageId === origin.messageId && origin.index < last.index)
      yield faultAt(rule, signed, "signed content changed places: keep its order");
    last = origin ?? last;
  }
}

/** Where signed content was: within one message it must keep its order; a message may move. */
interface Origin {
  readonly messageId: string;
  readonly index: number;
}
