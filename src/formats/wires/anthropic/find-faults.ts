import { asObject, asString, type UnknownObject } from "../../../text/json.ts";
import type { Fault } from "../../../transcript/format.ts";
import { findCommonFaults } from "../../faults/find-common-faults.ts";
import {
  type EditExpectation,
  findCommonEditFaults,
  findSignedContentFaults,
  type SignedContent,
} from "../../faults/find-edit-faults.ts";
import {
  contentBlocks,
  faultAt,
  type WireBlock,
  type WireMessage,
  type WirePlace,
  wireList,
} from "../../faults/wire-message.ts";
import { findAnthropicSizeFaults } from "./size-faults.ts";

/**
 * What Anthropic's Messages API would refuse in a request, or in its bare list of messages. Checks common-01 to
 * common-12 and anthropic-19, 20, 22, 23, 25, 26, 27, and anthropic-24 when told which signatures the model made.
 */
export function findAnthropicFaults(wire: unknown, options: AnthropicFaultOptions = {}): readonly Fault[] {
  const messages = readAnthropicWire(wire);
  const conversation = messages.filter((message) => message.side !== "system");
  return [
    ...findCommonFaults(messages),
    ...conversation.flatMap(resultOrderFaults),
    ...conversation.flatMap(blockFaults),
    ...thinkingFaults(wire, conversation),
    ...foreignSignatureFaults(conversation, options),
    ...cacheMarkFaults(wire, messages),
    ...roleFaults(conversation),
    ...findAnthropicSizeFaults(wire),
  ];
}

interface AnthropicFaultOptions {
  /** Says of a thinking block's signature whether the model that is asked made it; all are taken for its own when unset. */
  readonly isOwnSignature?: (signature: string) => boolean;
}

/** anthropic-19: results stand in front of everything else in their message; no turn's results are in two messages. */
function resultOrderFaults(
  message: WireMessage,
  index: number,
  all: readonly WireMessage[],
): readonly Fault[] {
  const faults: Fault[] = [];
  const before = all[index - 1];
  const isSecond =
    message.side === "user" &&
    before?.side === "user" &&
    before.blocks.some((block) => block.type === "result");
  let isBehind = false;
  for (const block of message.blocks) {
    if (block.type !== "result") isBehind = true;
    else if (isBehind)
      faults.push(faultAt("anthropic-19", block, "a result behind other content: put results first"));
    else if (isSecond)
      faults.push(
        faultAt("anthropic-19", block, "results in two messages: put all of a turn's into the first"),
      );
  }
  return faults;
}

/** anthropic-20, and blank texts inside results. */
function blockFaults({ blocks }: WireMessage): readonly Fault[] {
  const faults: Fault[] = [];
  for (const block of blocks) {
    if (block.callId !== undefined && !CALL_ID.test(block.callId))
      faults.push(
        faultAt(
          "anthropic-20",
          block,
          "an id that is not 1 to 64 of a-z, A-Z, 0-9, _ and -: rename both sides",
        ),
      );
    const { content } = asObject(block.wire);
    if (block.type === "result" && Array.isArray(content) && content.some(isBlankText))
      faults.push(faultAt("common-10", block, "a blank text in a result: leave it out"));
  }
  return faults;
}

const CALL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

function isBlankText(block: unknown): boolean {
  const { type, text } = asObject(block);
  return type === "text" && typeof text === "string" && text.trim() === "";
}

/** anthropic-22: with thinking on, the last turn that called a tool starts with its thinking. */
function thinkingFaults(wire: unknown, conversation: readonly WireMessage[]): readonly Fault[] {
  const isLoopOpen = conversation.at(-1)?.blocks.some((block) => block.type === "result") === true;
  const last = isLoopOpen ? conversation.findLast((message) => message.side === "assistant") : undefined;
  if (last === undefined || !last.blocks.some((block) => block.type === "call")) return [];
  const isOn = THINKING_ON.includes(asObject(asObject(wire).thinking).type);
  const mustThink = isOn || last.blocks.some((block) => block.type === "reasoning");
  return mustThink && last.blocks[0]?.type !== "reasoning"
    ? [
        faultAt(
          "anthropic-22",
          last,
          "the turn whose tools were called must start with its thinking: keep it",
        ),
      ]
    : [];
}

const THINKING_ON: readonly unknown[] = ["enabled", "adaptive"];

/** anthropic-24: a signature that another model made. */
function foreignSignatureFaults(
  conversation: readonly WireMessage[],
  { isOwnSignature = () => true }: AnthropicFaultOptions,
): readonly Fault[] {
  const faults: Fault[] = [];
  for (const { blocks } of conversation) {
    for (const block of blocks) {
      const { signature, data } = asObject(block.wire);
      const proof = asString(signature) ?? asString(data);
      if (block.type === "reasoning" && proof !== undefined && !isOwnSignature(proof))
        faults.push(faultAt("anthropic-24", block, "thinking that another model signed: leave it out"));
    }
  }
  return faults;
}

/** anthropic-23: where cache marks may stand, and how many. */
function cacheMarkFaults(wire: unknown, messages: readonly WireMessage[]): readonly Fault[] {
  const faults: Fault[] = [];
  let marks = wireList(asObject(wire).tools, "").filter(isMarked).length;
  for (const { blocks } of messages) {
    for (const block of blocks) {
      const inner = contentBlocks(asObject(block.wire).content);
      marks += (isMarked(block.wire) ? 1 : 0) + inner.filter(isMarked).length;
      if (isMarked(block.wire) && (block.type === "reasoning" || isBlankText(block.wire)))
        faults.push(
          faultAt("anthropic-23", block, "a cache mark on thinking or on a blank text: take it off"),
        );
    }
  }
  if (marks > MAX_CACHE_MARKS)
    faults.push(faultAt("anthropic-23", { messageId: "" }, `${marks} cache marks: keep ${MAX_CACHE_MARKS}`));
  return faults;
}

const MAX_CACHE_MARKS = 4;

function isMarked(block: unknown): boolean {
  const { cache_control: mark }: UnknownObject = asObject(block);
  return mark !== undefined && mark !== null;
}

/** anthropic-26 and anthropic-27: the roles take turns and the user has the last word. */
function roleFaults(conversation: readonly WireMessage[]): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [index, message] of conversation.entries()) {
    if (message.side === conversation[index - 1]?.side)
      faults.push(faultAt("anthropic-27", message, `two ${message.side} messages in a row: make them one`));
  }
  const last = conversation.at(-1);
  if (last?.side === "assistant")
    faults.push(faultAt("anthropic-26", last, "the model has the last word: end with a user message"));
  return faults;
}

/** What an edit broke between an Anthropic wire before and after it: anthropic-21, and what else is expected of the edit. */
export function findAnthropicEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  const [old, now] = [readAnthropicWire(before), readAnthropicWire(after)];
  return [
    ...findSignedContentFaults({ rule: "anthropic-21", before: thinkingOf(old), after: thinkingOf(now) }),
    ...findCommonEditFaults(old, now, expected),
  ];
}

function thinkingOf(messages: readonly WireMessage[]): readonly SignedContent[] {
  return messages.flatMap(({ blocks }) =>
    blocks.flatMap((block) => {
      const { signature, data } = asObject(block.wire);
      const seal = asString(signature) ?? asString(data) ?? "";
      return block.type === "reasoning" ? [{ ...block, seal }] : [];
    }),
  );
}

/** The messages of an Anthropic request as the rules see them, the system text first; total. */
function readAnthropicWire(wire: unknown): readonly WireMessage[] {
  const system = Array.isArray(wire) ? undefined : asObject(wire).system;
  const messages = wireList(wire, "messages").map(readMessage);
  if (system === undefined || system === null) return messages;
  const place = { messageId: "system" };
  return [{ ...place, side: "system", blocks: contentBlocks(system).map(readBlock(place)) }, ...messages];
}

function readMessage(message: unknown, index: number): WireMessage {
  const { role, content } = asObject(message);
  const place = { messageId: `messages[${index}]` };
  return {
    ...place,
    side: role === "assistant" ? "assistant" : role === "system" ? "system" : "user",
    blocks: contentBlocks(content).map(readBlock(place)),
  };
}

function readBlock({ messageId }: WirePlace): (block: unknown, partIndex: number) => WireBlock {
  return (block, partIndex) => {
    const { type, text, id, tool_use_id: resultOf, name, input, content } = asObject(block);
    const place = { messageId, partIndex, wire: block };
    switch (type) {
      case "text":
        return { ...place, type: "text", read: text };
      case "thinking":
      case "redacted_thinking":
        return { ...place, type: "reasoning" };
      case "tool_use":
        return { ...place, type: "call", callId: asString(id) ?? "", read: [name, input] };
      case "tool_result":
        return { ...place, type: "result", callId: asString(resultOf) ?? "", read: resultTexts(content) };
      case "image":
      case "document":
        return { ...place, type: "media" };
      default:
        return { ...place, type: "opaque" };
    }
  };
}

/** The texts of a result, its images left out. */
function resultTexts(content: unknown): readonly unknown[] {
  return contentBlocks(content).map((block) => asObject(block).text);
}
