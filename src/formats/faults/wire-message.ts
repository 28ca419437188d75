import { asObject } from "../../text/unknown-value.ts";
import { outcomeText } from "../../transcript/content.ts";
import type { Fault, ProviderRule } from "../../transcript/format.ts";
import type { Block, ItemContent } from "../blocks/block-adapter.ts";

/** One message of a provider's wire as its rules see it: made of the blocks that `decode` reads. */
export interface WireMessage extends WirePlace {
  readonly side: "system" | "user" | "assistant";
  readonly blocks: readonly WireBlock[];
  /** Set when the wire says that generation was broken off here. */
  readonly isCutOff?: true;
}

/** One piece of a message; several wire items of one turn are blocks of one message. */
export interface WireBlock extends WirePlace {
  readonly type: "text" | "reasoning" | "call" | "result" | "other";
  /** Joins a call and its result. */
  readonly callId?: string;
  /** What the model reads of it: texts, names, inputs, outputs. */
  readonly read?: unknown;
  /** The block in the wire. */
  readonly wire: unknown;
}

/** A place in the wire. */
export interface WirePlace {
  readonly messageId: string;
  readonly partIndex?: number;
}

/** An item that a format has read, at its place; `locate` gives the place of each of its blocks. */
export function wireMessage<Value>(
  { role, blocks }: ItemContent<Value>,
  messageId: string,
  locate: (value: Value, index: number) => Located,
): WireMessage {
  return {
    messageId,
    side: role === "assistant" ? "assistant" : role === "system" ? "system" : "user",
    blocks: blocks.map((block, index) => ({
      messageId,
      ...describeBlock(block),
      ...locate(block.value, index),
    })),
  };
}

/** Where a block is in the wire, and what of it rules see otherwise than `decode`. */
export type Located = Partial<WireBlock> & Pick<WireBlock, "wire">;

/** What the rules ask of a block. A provider takes its own content back as it is, whatever is in it. */
function describeBlock(block: Block<unknown>): Omit<WireBlock, "messageId" | "wire"> {
  switch (block.type) {
    case "call":
      return { type: "call", callId: block.callId ?? "", read: [block.tool, block.input] };
    case "result":
      return { type: "result", callId: block.callId ?? "", read: outcomeText(block.outcome) };
    case "part": {
      const { part } = block;
      if (part.type === "reasoning") return { type: "reasoning" };
      return part.type === "text" && part.providerBlock === undefined
        ? { type: "text", read: part.text }
        : { type: "other" };
    }
    default:
      return block satisfies never;
  }
}

/** A fault of a rule at a place of the wire. */
export function faultAt(rule: ProviderRule, { messageId, partIndex }: WirePlace, text: string): Fault {
  return partIndex === undefined ? { rule, messageId, text } : { rule, messageId, partIndex, text };
}

/** The list of messages of a wire: the wire itself, or that field of a request; empty when neither is one. */
export function wireList(wire: unknown, field: string): readonly unknown[] {
  if (Array.isArray(wire)) return wire;
  const list = asObject(wire)[field];
  return Array.isArray(list) ? list : [];
}
