import { resultsWithTiers, type Tier, type TierCounts, type TieredResult } from "../../stages/tiers.ts";
import { omitUndefined } from "../../text/json.ts";
import type { Edit } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { OutputCut } from "../../transcript/part.ts";
import { FORK_CHAR_NO_REMOVAL } from "./options.ts";

/** What the pipeline did to a conversation. */
export interface ProcessingStats {
  /** Messages before any processing. */
  readonly originalCount: number;
  /** Messages rendered. */
  readonly finalCount: number;
  /** Length of the wrapped text. */
  readonly totalChars: number;
  /** Messages removed by the budget alone. */
  readonly removedMessages: number;
  readonly compactionDetected: boolean;
  /** Index of the summary in the input; -1 when there is none. */
  readonly compactionSliceIndex: number;
  /** Results that were cut, in any way. */
  readonly truncatedResults: number;
  readonly tierDistribution: TierDistribution;
  /** Results of which both ends were kept. */
  readonly headTailApplied: number;

  /** Results that had been cleared before. */
  readonly clearedResults?: number;
  readonly errorResults?: number;
  readonly tierDistributionBeforeBudget?: TierDistribution;
  /** Results of each tier that were really cut. */
  readonly truncatedByTier?: TierDistribution;
  /** Up to 120,000 characters, more, or cut by the budget. */
  readonly budgetZone?: "under" | "between" | "over";
  /** Results of which lines were chosen. */
  readonly selectedResults?: number;
  /** Results that a line naming something newer stands for. */
  readonly supersededResults?: number;
  /** Texts shortened because the budget is hard. */
  readonly oversizeTruncated?: number;
  /** The numbers that were applied. */
  readonly applied?: {
    readonly tier2Chars: number;
    readonly tier3Chars: number;
    readonly budgetChars: number;
    /** Unset in the documented profile; in this one the limits of the tiers are not applied. */
    readonly profile?: "default";
  };
}

/** Results by tier. */
export interface TierDistribution {
  readonly tier1: number;
  readonly tier2: number;
  readonly tier3: number;
}

/** The part of the statistics that can be read off the results which survived. */
type ResultStats = Pick<ProcessingStats, "truncatedResults" | "tierDistribution" | "headTailApplied"> &
  Partial<ProcessingStats>;

/** Counts the results of a processed transcript: nothing is kept by hand beside the work. */
export function countResults(messages: Transcript, limits: TierCounts): ResultStats {
  const results = resultsWithTiers(messages, limits);
  const numbered = results.filter(({ isNumbered }) => isNumbered);
  const cut = numbered.filter(({ result }) => result.part.cut !== undefined);
  const cuts = numbered.flatMap(({ result }) => result.part.cut ?? []);
  return {
    truncatedResults: cuts.length,
    tierDistribution: distribution(numbered),
    headTailApplied: cuts.filter(({ method }) => method === "head-tail").length,
    clearedResults: results.filter(({ result }) => result.cleared).length,
    errorResults: numbered.filter(({ result }) => result.status === "failed").length,
    truncatedByTier: distribution(cut),
    // The documented limits never do such a thing, and their statistics do not speak of it.
    ...omitUndefined({
      selectedResults: cuts.filter(({ method }) => method === "lines").length || undefined,
      supersededResults: cuts.filter(isSuperseded).length || undefined,
    }),
  };
}

/** Nothing of the output is left but a line that names the newer one. */
function isSuperseded({ method, omittedChars, originalChars }: OutputCut): boolean {
  return method === "head" && omittedChars >= originalChars && originalChars > 0;
}

function distribution(results: readonly TieredResult[]): TierDistribution {
  const count = (tier: Tier) => results.filter((result) => result.tier === tier).length;
  return { tier1: count(1), tier2: count(2), tier3: count(3) };
}

interface SizeInput {
  readonly kept: Transcript;
  readonly budgetEdits: readonly Edit[];
  /** Characters of what is written around the messages when this many were removed. */
  readonly frameChars: (removedMessages: number) => number;
  readonly render: (message: Message) => string;
  /** True when lines were chosen because not everything fits. */
  readonly wasFilled?: boolean;
  /** What an earlier pass of the budget did. */
  readonly earlier?: ProcessingStats;
}

/** The part of the statistics that the budget decides. */
export function sizeStats(input: SizeInput): SizeStats {
  const { kept, budgetEdits, frameChars, render, wasFilled, earlier } = input;
  const sizes = kept.map((message) => render(message).length).filter((chars) => chars > 0);
  const messagesChars = sizes.reduce((sum, chars) => sum + chars, 0);
  const hidden = budgetEdits.filter((edit) => edit.type === "hide-message").length;
  const removedMessages = (earlier?.removedMessages ?? 0) + hidden;
  const totalChars = sizes.length === 0 ? 0 : messagesChars + frameChars(removedMessages);
  const wasOver = wasFilled || budgetEdits.length > 0 || earlier?.budgetZone === "over";
  return {
    finalCount: sizes.length,
    totalChars,
    removedMessages,
    budgetZone: wasOver ? "over" : totalChars <= FORK_CHAR_NO_REMOVAL ? "under" : "between",
    oversizeTruncated: (earlier?.oversizeTruncated ?? 0) + (budgetEdits.length - hidden),
  };
}

type SizeStats = Required<
  Pick<ProcessingStats, "finalCount" | "totalChars" | "removedMessages" | "budgetZone" | "oversizeTruncated">
>;
