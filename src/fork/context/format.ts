import { charBudget } from "../../stages/budget.ts";
import { FIXED_TIER_LIMITS } from "../../stages/tiers.ts";
import { runStages } from "../../transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript, withUniqueIds } from "../../transcript/message.ts";
import { createRenderer } from "../../transcript/render.ts";
import { type ForkOptions, resolveForkOptions } from "./options.ts";
import { countResults, createContextFrame, type ProcessingStats, sizeStats } from "./stats.ts";

/** The messages as one wrapped text that never exceeds the budget, with statistics that include what that took. */
export function formatMessagesAsContext(
  messages: Transcript,
  stats: ProcessingStats = statsOf(messages),
  options: Pick<ForkOptions, "budgetChars" | "sessionId"> = {},
): FormattedContext {
  return formatRendered(messages, { ...options, stats, render: createRenderer() });
}

/** The same, of texts that someone else needed as well. */
export function formatRendered(messages: Transcript, options: FormatOptions): FormattedContext {
  const { stats, render, sessionId, budgetChars: askedChars = stats.applied?.budgetChars } = options;
  const { budgetChars, limits } = resolveForkOptions(
    askedChars === undefined ? {} : { budgetChars: askedChars },
  );
  const frame = createContextFrame(sessionId);
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

interface FormatOptions extends Pick<ForkOptions, "budgetChars" | "sessionId"> {
  readonly stats: ProcessingStats;
  readonly render: (message: Message) => string;
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
