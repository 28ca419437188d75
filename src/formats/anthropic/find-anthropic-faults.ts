import type { Fault } from "../../transcript/find-faults.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { findCommonFaults } from "../wire-faults/find-common-faults.ts";
import { contentBlocks, wireList } from "../wire-faults/wire-list.ts";
import { faultAt, type WireMessage } from "../wire-faults/wire-message.ts";
import { findAnthropicSizeFaults } from "./find-anthropic-size-faults.ts";
import { readAnthropicWire } from "./read-anthropic-wire.ts";

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

export interface AnthropicFaultOptions {
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
    const { content } = fields(block.wire);
    if (block.type === "result" && Array.isArray(content) && content.some(isBlankText))
      faults.push(faultAt("common-10", block, "a blank text in a result: leave it out"));
  }
  return faults;
}

const CALL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

function isBlankText(block: unknown): boolean {
  const { type, text } = fields(block);
  return type === "text" && typeof text === "string" && text.trim() === "";
}

/** anthropic-22: with thinking on, the last turn that called a tool starts with its thinking. */
function thinkingFaults(wire: unknown, conversation: readonly WireMessage[]): readonly Fault[] {
  const isLoopOpen = conversation.at(-1)?.blocks.some((block) => block.type === "result") === true;
  const last = isLoopOpen ? conversation.findLast((message) => message.side === "assistant") : undefined;
  if (last === undefined || !last.blocks.some((block) => block.type === "call")) return [];
  const isOn = THINKING_ON.includes(fields(fields(wire).thinking).type);
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
      const { signature, data } = fields(block.wire);
      const proof = stringField(signature) ?? stringField(data);
      if (block.type === "reasoning" && proof !== undefined && !isOwnSignature(proof))
        faults.push(faultAt("anthropic-24", block, "thinking that another model signed: leave it out"));
    }
  }
  return faults;
}

/** anthropic-23: where cache marks may stand, and how many. */
function cacheMarkFaults(wire: unknown, messages: readonly WireMessage[]): readonly Fault[] {
  const faults: Fault[] = [];
  let marks = wireList(fields(wire).tools, "").filter(isMarked).length;
  for (const { blocks } of messages) {
    for (const block of blocks) {
      const inner = contentBlocks(fields(block.wire).content);
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
  const { cache_control: mark }: Fields = fields(block);
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
