import { charBudget } from "../../stages/budget.ts";
import { DOCUMENTED_TIER_LIMITS } from "../../stages/tiers.ts";
import { hashText } from "../../text/hash.ts";
import { omitUndefined } from "../../text/json.ts";
import { runStages } from "../../transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript, withUniqueIds } from "../../transcript/message.ts";
import { CONTEXT_TAG, createRenderer } from "../../transcript/render.ts";
import { type ForkOptions, readForkOptions } from "./options.ts";
import { countResults, type ProcessingStats, sizeStats } from "./stats.ts";

/** The messages as one wrapped text that never exceeds the budget, with statistics that include what that took. */
export function formatMessagesAsContext(
  messages: Transcript,
  stats: ProcessingStats = statsOf(messages),
  options: Pick<ForkOptions, "budgetChars" | "sessionId"> = {},
): FormattedContext {
  return formatRendered(messages, { ...options, stats, render: createRenderer() });
}

/** The same with a renderer that has rendered the messages before. */
export function formatRendered(messages: Transcript, options: FormatOptions): FormattedContext {
  const { stats, render, sessionId } = options;
  const askedChars = options.budgetChars ?? stats.applied?.budgetChars;
  const { budgetChars, limits } = readForkOptions(omitUndefined({ budgetChars: askedChars }));
  const frame = createContextFrame(sessionId);
  const { transcript, edits } = runStages(withUniqueIds(messages), [
    charBudget({
      maxChars: budgetChars,
      frameChars: (hidden) => frame.chars(stats.removedMessages + hidden),
      render,
    }),
  ]);
  const kept = transcript.filter(isVisibleToModel);
  const sizes = sizeStats({ kept, budgetEdits: edits, frameChars: frame.chars, render, earlier: stats });
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

/** The wrapped text and its statistics. */
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
    ...countResults(messages, DOCUMENTED_TIER_LIMITS),
  };
}

/** The wrapper around inherited messages. */
export interface ContextFrame {
  /** The opening tag, and a line that says how many earlier messages are missing. */
  open(removedMessages: number): string;
  readonly close: string;
  /** Length of everything around the messages. */
  chars(removedMessages: number): number;
}

/** The wrapper of a session; with a session id its tag carries a short name derived from it. */
export function createContextFrame(sessionId: string | undefined): ContextFrame {
  const tag =
    sessionId === undefined ? `<${CONTEXT_TAG}>` : `<${CONTEXT_TAG} n="${hashText(sessionId).toString(36)}">`;
  const close = `\n</${CONTEXT_TAG}>`;
  const open = (removedMessages: number) =>
    removedMessages === 0
      ? tag
      : `${tag}\n[${removedMessages} earlier ${removedMessages === 1 ? "message" : "messages"} omitted]`;
  return { open, close, chars: (removedMessages) => open(removedMessages).length + close.length };
}
