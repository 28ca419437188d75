import { type Fields, fields } from "../fields.ts";
import type { AnthropicMessage, AnthropicWire } from "./anthropic-wire.ts";

/** The messages with at most four cache marks, those on tools counted; the oldest on messages go first. The same reference when there are no more. */
export function limitCacheMarks(
  items: readonly AnthropicMessage[],
  wire: AnthropicWire,
): readonly AnthropicMessage[] {
  const { tools } = fields(wire);
  const marksOnTools = Array.isArray(tools) ? tools.filter(isMarked).length : 0;
  let surplus =
    items.reduce((sum, item) => sum + countMarks(fields(item).content), marksOnTools) - MAX_CACHE_MARKS;
  if (surplus <= 0) return items;
  const limited = [...items];
  const oldestFirst = [...items.keys()].sort((one, other) => rank(items, one) - rank(items, other));
  for (const index of oldestFirst) {
    const item = items[index];
    if (surplus <= 0 || item === undefined) break;
    const budget = { surplus };
    limited[index] = { ...item, content: unmark(item.content, budget) };
    surplus = budget.surplus;
  }
  return limited;
}

const MAX_CACHE_MARKS = 4;

/** The system text is in every request, so its marks are the last to go. */
function rank(items: readonly AnthropicMessage[], index: number): number {
  return fields(items[index]).role === "system" ? items.length + index : index;
}

function isMarked(block: unknown): boolean {
  const { cache_control: mark } = fields(block);
  return mark !== undefined && mark !== null;
}

function countMarks(content: unknown): number {
  if (!Array.isArray(content)) return 0;
  let marks = 0;
  for (const block of content) marks += (isMarked(block) ? 1 : 0) + countMarks(fields(block).content);
  return marks;
}

function unmark(content: unknown, budget: { surplus: number }): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((block) => {
    if (budget.surplus <= 0 || countMarks([block]) === 0) return block;
    const { cache_control: mark, ...plain } = fields(block) as Fields & { readonly cache_control?: unknown };
    const isMine = mark !== undefined && mark !== null;
    if (isMine) budget.surplus--;
    const kept = isMine || mark === undefined ? plain : { ...plain, cache_control: mark };
    return Array.isArray(plain.content) ? { ...kept, content: unmark(plain.content, budget) } : kept;
  });
}
