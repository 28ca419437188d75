import { GAP_MARKER } from "../../stages/lines/select.ts";
import { FORK_TIER2_LIMIT, FORK_TIER3_LIMIT } from "../../stages/tiers.ts";
import type { Edit } from "../../transcript/edit.ts";
import { isVisibleToModel, type Transcript } from "../../transcript/message.ts";
import { CONTEXT_TAG } from "../../transcript/render.ts";
import { handleOf } from "../../transcript/tool-results.ts";
import { FORK_CHAR_BUDGET } from "./options.ts";
import type { ProcessingStats } from "./stats.ts";

/** Tells a child what was done to the context that it inherits, with the numbers that were really applied. */
export function buildForkPreamble(stats: ProcessingStats, { recall }: ForkPreambleOptions = {}): string {
  const applied: NonNullable<ProcessingStats["applied"]> = stats.applied ?? {
    tier2Chars: FORK_TIER2_LIMIT,
    tier3Chars: FORK_TIER3_LIMIT,
    budgetChars: FORK_CHAR_BUDGET,
  };
  const { full, tier2, tier3 } = resultCounts(stats);
  const tieredResults = `- Tool results: ${full} full, ${tier2} truncated to ${applied.tier2Chars} chars, ${tier3} truncated to ${applied.tier3Chars} chars`;
  const oversize = stats.oversizeTruncated ?? 0;
  return [
    PREAMBLE_FIRST_LINE,
    "Context processing applied:",
    stats.compactionDetected
      ? "- Compaction summary included (messages before compaction removed)"
      : "- No compaction detected",
    applied.profile === "default" ? filledResults(stats, full) : tieredResults,
    stats.removedMessages > 0
      ? `- ${stats.removedMessages} ${applied.profile === "default" ? "older" : "oldest"} messages removed to fit ${applied.budgetChars} char budget`
      : "- All messages preserved",
    "If you need complete file contents or detailed results, re-read the files directly.",
    ...(stats.totalChars > 0 ? [`Inherited context: ${stats.totalChars} chars in all.`] : []),
    ...(oversize > 0
      ? [
          `To keep that budget, ${oversize} long ${oversize === 1 ? "text was" : "texts were"} shortened further.`,
        ]
      : []),
    ...(recall === undefined ? [] : [`What is missing can be read with ${recall}.`]),
  ].join("\n");
}

function filledResults(
  { selectedResults = 0, supersededResults = 0 }: ProcessingStats,
  full: number,
): string {
  return `- Tool results: ${full} full, ${selectedResults} reduced to the lines most likely needed (${GAP_MARKER} stands for what was left out), ${supersededResults} replaced by newer ones`;
}

/** Options of `buildForkPreamble`. */
export interface ForkPreambleOptions {
  /** How the child can ask for the whole of what was cut, such as the name of a tool. */
  readonly recall?: string;
}

export const PREAMBLE_FIRST_LINE = "You are working with forked context from a parent agent session.";

function resultCounts({ tierDistribution, truncatedByTier }: ProcessingStats) {
  if (truncatedByTier === undefined) {
    return { full: tierDistribution.tier1, tier2: tierDistribution.tier2, tier3: tierDistribution.tier3 };
  }
  const all = tierDistribution.tier1 + tierDistribution.tier2 + tierDistribution.tier3;
  const cut = truncatedByTier.tier1 + truncatedByTier.tier2 + truncatedByTier.tier3;
  return { full: all - cut, tier2: truncatedByTier.tier2, tier3: truncatedByTier.tier3 };
}

/** Takes the preamble off a context that the parent itself had inherited: what it says is not true of the child. */
export function omitNestedPreamble(transcript: Transcript): readonly Edit[] {
  const edits: Edit[] = [];
  for (const message of transcript) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type !== "text" || !part.text.startsWith(PREAMBLE_FIRST_LINE)) continue;
      const start = part.text.indexOf(`<${CONTEXT_TAG}`);
      if (start === -1) continue;
      edits.push({
        type: "replace-part",
        messageId: message.id,
        partIndex,
        part: { ...part, text: part.text.slice(start) },
        stage: "omit-nested-preamble",
        reason: "nested-preamble",
        omitted: { chars: start, handle: handleOf(message, partIndex) },
      });
    }
  }
  return edits;
}
