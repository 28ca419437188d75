import type { CutBy } from "./cut-text.ts";
import type { SpillFailure } from "./spill-store.ts";
import type { TextSize } from "./text-size.ts";

/** A tool output as it may enter the context. */
export interface ToolOutputResult<Block> {
  /** The very same list when nothing needed doing. */
  readonly blocks: readonly Block[];
  /** Whether anything was left out. */
  readonly truncated: boolean;
  readonly by: TruncatedBy;
  readonly stats: ToolOutputStats;
  /** Under which the store keeps the raw output; where there are several, the text's. */
  readonly handle?: string;
  readonly path?: string;
  readonly sha256?: string;
  /** Why the store does not have the output; the tool call itself is not affected. */
  readonly failure?: SpillFailure;
}

/** What decided: the last limit that took something away, or `spill` when the whole was replaced by a preview or a notice. */
export type TruncatedBy = CutBy | "spill";

/** How much of an output is shown, after cleaning and without our own lines; bytes that are not text count as bytes only. */
export interface ToolOutputStats {
  readonly lines: Tally;
  /** Code points. */
  readonly chars: Tally;
  readonly bytes: Tally;
}

/** Shown and omitted together are always the total. */
export interface Tally {
  readonly shown: number;
  readonly omitted: number;
  readonly total: number;
}

/** The statistics of an output of which this much is shown. */
export function tallyUp(shown: TextSize, total: TextSize): ToolOutputStats {
  const tally = (unit: keyof TextSize): Tally => ({
    shown: shown[unit],
    omitted: total[unit] - shown[unit],
    total: total[unit],
  });
  return { lines: tally("lines"), chars: tally("chars"), bytes: tally("bytes") };
}
