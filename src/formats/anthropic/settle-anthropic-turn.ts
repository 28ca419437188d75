import type { PlacedBlock, SettleContext } from "../blocks/block-adapter.ts";
import { type Fields, fields } from "../fields.ts";
import type { AnthropicWire } from "./anthropic-wire.ts";

/** Brings a turn into the order that Anthropic asks for, with the thinking that it cannot do without. */
export function settleAnthropicTurn(
  blocks: readonly PlacedBlock<Fields>[],
  context: SettleContext<AnthropicWire>,
): readonly PlacedBlock<Fields>[] {
  return context.role === "user" ? resultsFirst(blocks) : keepThinkingOfLastCall(blocks, context);
}

/** Results stand in front of everything else in their message, also those that answer nothing. */
function resultsFirst(blocks: readonly PlacedBlock<Fields>[]): readonly PlacedBlock<Fields>[] {
  const firstOther = blocks.findIndex(({ half }) => half !== "result");
  if (firstOther === -1 || blocks.findLastIndex(({ half }) => half === "result") < firstOther) return blocks;
  return [
    ...blocks.filter(({ half }) => half === "result"),
    ...blocks.filter(({ half }) => half !== "result"),
  ];
}

/** The turn whose tools were just called must start with its thinking when thinking is on; a list does not say whether it is. */
function keepThinkingOfLastCall(
  blocks: readonly PlacedBlock<Fields>[],
  { wire, isLast }: SettleContext<AnthropicWire>,
): readonly PlacedBlock<Fields>[] {
  const isCalling = isLast && blocks.some(({ half }) => half === "call");
  const mayThink = Array.isArray(wire) || THINKING_ON.includes(fields(fields(wire).thinking).type);
  const isKept = (isCalling && mayThink) || !blocks.some(({ hidden }) => hidden);
  const kept = isKept ? blocks : blocks.filter(({ hidden }) => hidden !== true);
  return isCalling ? thinkingFirst(kept) : kept;
}

const THINKING_ON: readonly unknown[] = ["enabled", "adaptive"];

/** Where an edit put a text before a turn that started with thinking, the thinking goes in front of both. */
function thinkingFirst(blocks: readonly PlacedBlock<Fields>[]): readonly PlacedBlock<Fields>[] {
  const start = blocks.findIndex((block) => isThinking(block) && block.index === 0);
  if (start <= 0 || blocks.slice(0, start).some(isThinking)) return blocks;
  const next = blocks.findIndex((block, index) => index > start && !isThinking(block));
  const end = next === -1 ? blocks.length : next;
  return [...blocks.slice(start, end), ...blocks.slice(0, start), ...blocks.slice(end)];
}

function isThinking({ part }: PlacedBlock<Fields>): boolean {
  return part.type === "reasoning";
}
