import { asArray, asObject, asString } from "../../../text/json.ts";
import type { Fault } from "../../../transcript/format.ts";
import { contentBlocks } from "../../blocks/block-content.ts";
import { safeCallId } from "../../blocks/message-head.ts";
import { findCommonFaults, isCompaction } from "../../faults/find-common-faults.ts";
import {
  faultAt,
  type WireBlock,
  type WireMessage,
  type WirePlace,
  wireList,
} from "../../faults/wire-message.ts";
import { isBlankText, isMarked, isThinkingOn, MAX_CACHE_MARKS } from "./read-message.ts";
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
    ...resultOrderFaults(conversation),
    ...blockFaults(conversation),
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

/** anthropic-19: results come first in their message; no turn's results are in two messages. */
function* resultOrderFaults(conversation: readonly WireMessage[]): Generator<Fault> {
  for (const [index, { side, blocks }] of conversation.entries()) {
    const before = conversation[index - 1];
    const isSecond = side === "user" && before?.side === "user" && hasBlock(before, "result");
    let isBehind = false;
    for (const block of blocks) {
      if (block.type !== "result") isBehind = true;
      else if (isBehind)
        yield faultAt("anthropic-19", block, "a result behind other content: put results first");
      else if (isSecond)
        yield faultAt("anthropic-19", block, "results in two messages: put all of a turn's into the first");
    }
  }
}

function hasBlock(message: WireMessage | undefined, type: WireBlock["type"]): boolean {
  return message?.blocks.some((block) => block.type === type) === true;
}

/** anthropic-20, and blank texts inside results. */
function* blockFaults(conversation: readonly WireMessage[]): Generator<Fault> {
  for (const block of conversation.flatMap(({ blocks }) => blocks)) {
    if (block.callId !== undefined && safeCallId(block.callId) !== block.callId)
      yield faultAt("anthropic-20", block, "an id that is not 1 to 64 of a-zA-Z0-9_-: rename both sides");
    const { content } = asObject(block.wire);
    if (block.type === "result" && asArray(content).some(isBlankText))
      yield faultAt("common-10", block, "a blank text in a result: leave it out");
  }
}

/** anthropic-22: with thinking on, the last turn that called a tool starts with its thinking. */
function* thinkingFaults(wire: unknown, conversation: readonly WireMessage[]): Generator<Fault> {
  const isLoopOpen = hasBlock(conversation.at(-1), "result");
  const last = isLoopOpen ? conversation.findLast((message) => message.side === "assistant") : undefined;
  if (last === undefined || !hasBlock(last, "call") || last.blocks[0]?.type === "reasoning") return;
  if (isThinkingOn(wire) || hasBlock(last, "reasoning"))
    yield faultAt(
      "anthropic-22",
      last,
      "the turn whose tools were called must start with its thinking: keep it",
    );
}

/** anthropic-24: a signature that another model made. */
function* foreignSignatureFaults(
  conversation: readonly WireMessage[],
  { isOwnSignature = () => true }: AnthropicFaultOptions,
): Generator<Fault> {
  for (const block of conversation.flatMap(({ blocks }) => blocks)) {
    const signature = signatureOf(block);
    if (block.type === "reasoning" && signature !== undefined && !isOwnSignature(signature))
      yield faultAt("anthropic-24", block, "thinking that another model signed: leave it out");
  }
}

/** anthropic-23: where cache marks may be, and how many. */
function* cacheMarkFaults(wire: unknown, messages: readonly WireMessage[]): Generator<Fault> {
  let marks = asArray(asObject(wire).tools).filter(isMarked).length;
  for (const block of messages.flatMap(({ blocks }) => blocks)) {
    const inner = contentBlocks(asObject(block.wire).content);
    marks += (isMarked(block.wire) ? 1 : 0) + inner.filter(isMarked).length;
    if (isMarked(block.wire) && (block.type === "reasoning" || isBlankText(block.wire)))
      yield faultAt("anthropic-23", block, "a cache mark on thinking or on a blank text: take it off");
  }
  if (marks > MAX_CACHE_MARKS)
    yield faultAt("anthropic-23", { messageId: "" }, `${marks} cache marks: keep ${MAX_CACHE_MARKS}`);
}

/** anthropic-26 and anthropic-27: the roles take turns and the user has the last word. */
function* roleFaults(conversation: readonly WireMessage[]): Generator<Fault> {
  for (const [index, message] of conversation.entries()) {
    if (message.side === conversation[index - 1]?.side)
      yield faultAt("anthropic-27", message, `two ${message.side} messages in a row: make them one`);
  }
  const last = conversation.at(-1);
  if (last?.side === "assistant" && !isCompaction(last.blocks.at(-1)))
    yield faultAt("anthropic-26", last, "the model has the last word: end with a user message");
}

/** What the provider signed a thinking block with, or the sealed thinking itself. */
export function signatureOf({ wire }: WireBlock): string | undefined {
  const { signature, data } = asObject(wire);
  return asString(signature) ?? asString(data);
}

/** The messages of an Anthropic request as the rules see them, the system text first; total. */
export function readAnthropicWire(wire: unknown): readonly WireMessage[] {
  const system = Array.isArray(wire) ? undefined : asObject(wire).system;
  const messages = wireList(wire, "messages").flatMap((message, index) =>
    isSettings(message) ? [] : [readMessage(message, index)],
  );
  if (system === undefined || system === null) return messages;
  const place = { messageId: "system" };
  return [{ ...place, side: "system", blocks: contentBlocks(system).map(readBlock(place)) }, ...messages];
}

/** Claude Code changes settings between turns by a system message that holds them and says nothing. */
function isSettings(message: unknown): boolean {
  const { role, content, ...settings } = asObject(message);
  return role === "system" && asArray(content).length === 0 && Object.keys(settings).length > 0;
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
