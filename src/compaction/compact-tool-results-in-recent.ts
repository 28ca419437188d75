import { FORK_NO_TRUNCATION_TOOLS } from "../stages/graduated-tiers.ts";
import type { Edit, Handle, Place } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { handleOf, type ToolResult } from "../transcript/tool-results.ts";
import { digestLine } from "./fold.ts";
import { createTextCleaner, fenceQuote, type Redaction } from "./summary-clean-text.ts";
import { archiveResult } from "./tool-summary-archive.ts";
import { countedResults } from "./tool-summary-results.ts";

/**
 * Edits that leave at most `cutoff` tool results in the recent part: the oldest above it are archived, and one
 * digest message says what they were. A result that the model has not answered yet stays, as do those of protected
 * tools. A cutoff of 0 or less changes nothing.
 */
export function compactToolResultsInRecent(
  messages: Transcript,
  cutoff: number,
  options: RecentResultsOptions = {},
): readonly Edit[] {
  if (!(cutoff > 0)) return [];
  const { keepHandles = [] } = options;
  const results = countedResults(messages, {
    protectedTools: FORK_NO_TRUNCATION_TOOLS,
    pins: keepHandles.map((handle) => ({ handle })),
  });
  const excess = results
    .slice(0, Math.max(0, results.length - Math.floor(cutoff)))
    .filter((result) => result.isSeen);
  if (excess.length === 0) return [];
  const { digestAfter = null, digestId = `${excess[0]?.message.id}~digest`, redaction } = options;
  return [
    ...excess.map((result) => archiveResult(result, digestId)),
    {
      type: "insert-message",
      message: digestMessage(digestId, excess, redaction),
      after: digestAfter,
      stage: "compaction",
      reason: "archived",
    },
  ];
}

export interface RecentResultsOptions {
  /** Behind which message the digest goes; before all of them when unset. */
  readonly digestAfter?: Place;
  readonly digestId?: MessageId;
  /** Results, or all results of a message, that stay. */
  readonly keepHandles?: readonly Handle[];
  readonly redaction?: Redaction;
}

/** How the digest begins. */
export const DIGEST_PREFIX = "[Compaction tool digest]";

function digestMessage(
  id: MessageId,
  results: readonly ToolResult[],
  redaction: Redaction | undefined,
): Message {
  const cleaner = createTextCleaner(redaction);
  const lines = results.map(({ message, partIndex, part, status, text }) => {
    const tool = cleaner.line(part.tool, 100);
    const line = digestLine(tool, status === "failed" ? "error" : "output", cleaner.data(text));
    return `${line} (${fenceQuote(cleaner.line(handleOf(message, partIndex), 160))})`;
  });
  return {
    id,
    role: "user",
    parts: [{ type: "text", text: `${DIGEST_PREFIX}\n${lines.join("\n")}`, synthetic: true }],
    metadata: { kind: "tool_summary", agentVisible: true, userVisible: false },
  };
}
