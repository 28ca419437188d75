import { charBudget } from "../stages/char-budget.ts";
import { FIXED_TIER_LIMITS } from "../stages/tool-result-tier.ts";
import type { Transcript } from "../transcript/message.ts";
import { createRenderer } from "../transcript/render.ts";
import { runStages } from "../transcript/run-stages.ts";
import { withUniqueIds } from "../transcript/unique-ids.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { createContextFrame } from "./context-frame.ts";
import { type ForkOptions, resolveForkOptions } from "./fork-options.ts";
import { countResults, type ProcessingStats, sizeStats } from "./processing-stats.ts";

/** The messages as one wrapped text that never exceeds the budget, with statistics that include what that took. */
export function formatMessagesAsContext(
  messages: Transcript,
  stats: ProcessingStats = statsOf(messages),
  options: Pick<ForkOptions, "budgetChars" | "sessionId"> = {},
): FormattedContext {
  const { budgetChars, limits } = resolveForkOptions({
    ...(stats.applied && { budgetChars: stats.applied.budgetChars }),
    ...options,
  });
  const frame = createContextFrame(options.sessionId);
  const render = createRenderer();
  const { transcript, edits } = runStages(withUniqueIds(messages), [
    charBudget({
      maxChars: budgetChars,
      frameChars: (hidden) => frame.chars(stats.removedMessages + hidden),
      render,
    }),
  ]);
  const kept = transcript.filter(isVisibleToModel);
  const sizes = sizeStats({ kept, budgetEdits: edits, frame, render, earlier: stats });
  const blocks = kept.map(render).filter((block) => block !== "");
  return {
    text: blocks.length === 0 ? "" : frame.open(sizes.removedMessages) + blocks.join("") + frame.close,
    stats: { ...stats, ...(edits.length > 0 && countResults(kept, limits)), ...sizes },
  };
}

export interface FormattedContext {
  readonly text: string;
  readonly stats: ProcessingStats;
}

/** Statistics of messages that no pipeline has touched. */
function statsOf(messages: Transcript): ProcessingStats {
  return {
    originalCount: messages.length,
    finalCount: messages.length,
    totalChars: 0,
    removedMessages: 0,
    compactionDetected: false,
    compactionSliceIndex: -1,
    ...countResults(messages, FIXED_TIER_LIMITS),
  };
}
