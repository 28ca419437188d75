import type { PlacedBlock, SettleContext } from "../blocks/block-adapter.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import type { ResponsesWire } from "./openai-responses-wire.ts";
import type { ResponsesValue } from "./read-responses-run.ts";

type Placed = PlacedBlock<ResponsesValue>;

/**
 * Keeps reasoning and what came of it together: reasoning of which nothing came leaves, and what is left without its
 * reasoning loses the id that would ask for it.
 */
export function settleReasoning(
  blocks: readonly Placed[],
  { wire }: SettleContext<ResponsesWire>,
): readonly Placed[] {
  if (!blocks.some(isReasoning)) return blocks;
  const isUnstored = fields(wire).store === false;
  const settled: Placed[] = [];
  let index = 0;
  while (index < blocks.length) {
    const reasoning: Placed[] = [];
    const made: Placed[] = [];
    for (; index < blocks.length && isReasoning(blocks[index]); index++) {
      if (reasoning.length > 0 && !isNext(reasoning.at(-1), blocks[index])) break;
      reasoning.push(blocks[index] as Placed);
    }
    for (; index < blocks.length && !isReasoning(blocks[index]); index++) made.push(blocks[index] as Placed);
    if (made.length === 0) continue;
    const kept = reasoning.filter((block) => block.hidden !== true && !(isUnstored && isNameOnly(block)));
    if (kept.length === reasoning.length) settled.push(...reasoning, ...made);
    // What only the server can read cannot do without its id, nor the id without the reasoning.
    else if (made.some(isServersOwn)) settled.push(...reasoning, ...made);
    else settled.push(...kept, ...withoutIds(made));
  }
  return settled.length === blocks.length && settled.every((block, place) => block === blocks[place])
    ? blocks
    : settled;
}

function isReasoning(block: Placed | undefined): boolean {
  return block?.part.type === "reasoning";
}

/** True for two that stood side by side; between others stood what came of the first. */
function isNext(one: Placed | undefined, other: Placed | undefined): boolean {
  return one?.index !== undefined && one.item === other?.item && one.index + 1 === other?.index;
}

function isNameOnly({ value }: Placed): boolean {
  return value.in === "item" && !stringField(value.item.encrypted_content);
}

function isServersOwn({ part, value }: Placed): boolean {
  return part.type === "opaque" && value.in === "item";
}

function withoutIds(blocks: readonly Placed[]): readonly Placed[] {
  const nameless = new Map<Fields, Fields>();
  return blocks.map((block) => {
    const { item } = block.value;
    if (item?.id === undefined) return block;
    const { id: _, ...rest } = item;
    const plain = nameless.get(item) ?? rest;
    nameless.set(item, plain);
    return { ...block, value: { ...block.value, item: plain }, changed: true };
  });
}
