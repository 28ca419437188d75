import { FORK_NO_TRUNCATION_TOOLS } from "../stages/graduated-tiers.ts";
import { createToolGuard, PRUNE_PROTECTED_TOOLS } from "../stages/prune-guard.ts";
import type { Edit, Handle, Place } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { handleOf, type ToolResult, toolResults } from "../transcript/tool-results.ts";
import { digestLine } from "./fold.ts";
import { createTextCleaner, type Redaction } from "./summary-clean-text.ts";

/**
 * Edits that leave at most `cutoff` tool results in the recent part: the oldest ones above it are cleared, and one
 * digest message says what they were. A result that the model has not answered yet, and one that is protected,
 * is neither counted nor cleared. A cutoff of 0 or less changes nothing.
 */
export function compactToolResultsInRecent(
  messages: Transcript,
  cutoff: number,
  options: RecentResultsOptions = {},
): readonly Edit[] {
  if (!(cutoff > 0)) return [];
  const keep = new Set(options.keepHandles);
  const isProtected = createToolGuard([...PRUNE_PROTECTED_TOOLS, ...FORK_NO_TRUNCATION_TOOLS]);
  const unseen = messages.findLast((message) => message.role === "assistant");
  const results = toolResults(messages).filter(
    (result) =>
      !result.cleared &&
      result.part.callMissing !== true &&
      !isProtected(result.part.tool) &&
      !keep.has(handleOf(result.message, result.partIndex)) &&
      !keep.has(result.message.id),
  );
  const excess = results
    .slice(0, Math.max(0, results.length - cutoff))
    .filter((result) => result.message !== unseen);
  if (excess.length === 0) return [];
  const { digestAfter = null, digestId = `${excess[0]?.message.id}~digest`, redaction } = options;
  return [
    ...excess.map(clear),
    {
      type: "insert-message",
      message: digestMessage(digestId, excess, redaction),
      after: digestAfter,
      stage: STAGE,
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

const STAGE = "compaction";

function clear({ message, partIndex, text }: ToolResult): Edit {
  return {
    type: "hide-part",
    messageId: message.id,
    partIndex,
    what: "output",
    stage: STAGE,
    reason: "archived",
    omitted: { chars: text.length, handle: handleOf(message, partIndex) },
  };
}

function digestMessage(
  id: MessageId,
  results: readonly ToolResult[],
  redaction: Redaction | undefined,
): Message {
  const cleaner = createTextCleaner(redaction);
  const lines = results.map(({ message, partIndex, part, status, text }) => {
    const line = digestLine(
      cleaner.line(part.tool, 100),
      status === "failed" ? "error" : "output",
      cleaner.data(text),
    );
    return `${line} (${cleaner.line(handleOf(message, partIndex), 160)})`;
  });
  return {
    id,
    role: "user",
    parts: [{ type: "text", text: `${DIGEST_PREFIX}\n${lines.join("\n")}`, synthetic: true }],
    metadata: { kind: "tool_summary", agentVisible: true, userVisible: false },
  };
}
