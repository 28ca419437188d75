import { forkContext } from "../../fork/fork.ts";
import {
  compactFileWithoutModel,
  type FileCompactionOptions,
} from "../../inspector/view/plan-file-compaction.ts";
import { isVisibleToModel, type Transcript } from "../../transcript/message.ts";

/**
 * The oldest messages as a summary without a model; the newest, which fit well, stay word for word: as many as leave
 * the summary whole.
 */
export function foldOldest(messages: Transcript, budgetTokens: number, budgetChars: number): Transcript {
  const said = new Set(messages.map(({ id }) => id));
  let replaced = messages;
  for (const { kept, summary } of SHARES) {
    replaced = summarizeOnce(messages, {
      windowTokens: budgetTokens * 2,
      keepTokens: Math.floor(budgetTokens * kept),
      summaryTokens: budgetTokens * summary,
    });
    const { edits } = forkContext(replaced, { budgetChars, ownTools: [] });
    if (edits.every((edit) => !("messageId" in edit) || said.has(edit.messageId))) break;
  }
  return replaced;
}

/** What may be taken of the budget, tried in this order. */
const SHARES = [
  { kept: 0.9, summary: 0.8 },
  { kept: 0.9, summary: 0.5 },
  { kept: 0.7, summary: 0.4 },
  { kept: 0.5, summary: 0.3 },
  { kept: 0.3, summary: 0.3 },
  { kept: 0.1, summary: 0.2 },
];

function summarizeOnce(messages: Transcript, options: FileCompactionOptions): Transcript {
  // What the provider counted has the reasoning in it that was never sent again, and the agent's own prompt.
  const uncounted = messages.map(({ usage: _, ...message }) => message);
  const file = { transcript: uncounted, format: "anthropic" as const };
  const replaced = compactFileWithoutModel(file, options);
  if (replaced.status !== "compacted") return messages;
  // A compaction clears outputs in what it keeps; here they are brought down to size by lines.
  const original = new Map(messages.map((message) => [message.id, message]));
  return replaced.messages.filter(isVisibleToModel).map((message) => original.get(message.id) ?? message);
}
