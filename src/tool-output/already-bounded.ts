import { addSizes, NO_SIZE, type TextSize } from "./text-size.ts";
import {
  isBytesBlock,
  isTextBlock,
  markOf,
  type ToolContentBlock,
  type Treatment,
} from "./tool-content-block.ts";
import { isWithinLimits, type ToolOutputLimits } from "./tool-output-limits.ts";

/** What the blocks show, when all their text is already bounded within these limits; undefined when there is work to do. */
export function alreadyBounded(
  blocks: readonly ToolContentBlock[],
  { limits, treatment }: BoundsWanted,
): TextSize | undefined {
  const results = new Set<TextSize>();
  for (const block of blocks) {
    if (isBytesBlock(block)) return undefined;
    if (!isTextBlock(block)) continue;
    const mark = markOf(block, treatment);
    if (mark === undefined) return undefined;
    results.add(mark.shown);
  }
  if (results.size === 0) return undefined;
  const shown = [...results].reduce(addSizes, NO_SIZE);
  return isWithinLimits(shown, limits) ? shown : undefined;
}

export interface BoundsWanted {
  readonly limits: ToolOutputLimits;
  readonly treatment: Treatment;
}
