import { charBudget } from "../stages/char-budget.ts";
import { compactionBoundary, findCompactionBoundary } from "../stages/compaction-boundary.ts";
import { graduatedTiers } from "../stages/graduated-tiers.ts";
import { omitForChild } from "../stages/omit-for-child.ts";
import { restore } from "../stages/prune-restore.ts";
import { redactTranscript } from "../stages/redact-transcript.ts";
import type { Edit, Stage } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import { renderMessage } from "../transcript/render.ts";
import { runStages } from "../transcript/run-stages.ts";
import { withUniqueIds } from "../transcript/unique-ids.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { createContextFrame } from "./context-frame.ts";
import { type ForkOptions, resolveForkOptions } from "./fork-options.ts";
import { omitNestedPreamble } from "./omit-nested-preamble.ts";
import { countResults, type ProcessingStats, sizeStats } from "./processing-stats.ts";

/** What a child inherits of its parent's conversation: the messages, every edit that led to them, and the statistics. */
export function processMessagesForFork(messages: Transcript, options: ForkOptions = {}): ForkResult {
  const resolved = resolveForkOptions(options);
  const { limits, budgetChars, neverCutTools, ownTools } = resolved;
  const frame = createContextFrame(resolved.sessionId);
  const input = withUniqueIds(messages);

  const prepared = runStages(input, [
    compactionBoundary({ from: "summary" }),
    omitForChild({ ownTools }),
    omitNestedPreamble,
    ...(resolved.pruned === "restore" ? [restoreAll] : []),
    ...(resolved.secrets === "redact" ? [redactTranscript()] : []),
    graduatedTiers({ limits, neverCutTools }),
  ]);
  const budgeted = runStages(prepared.transcript, [
    charBudget({ maxChars: budgetChars, frameChars: frame.chars }),
  ]);
  const kept = budgeted.transcript.filter(isVisibleToModel);

  const results = countResults(kept, limits);
  const beforeBudget = budgeted.edits.length === 0 ? results : countResults(prepared.transcript, limits);
  const compactionSliceIndex = findCompactionBoundary(input);
  return {
    messages: kept,
    edits: [...prepared.edits, ...budgeted.edits],
    stats: {
      originalCount: messages.length,
      compactionDetected: compactionSliceIndex !== -1,
      compactionSliceIndex,
      ...results,
      tierDistributionBeforeBudget: beforeBudget.tierDistribution,
      ...sizeStats({ kept, budgetEdits: budgeted.edits, frame, render: renderMessage }),
      applied: { tier2Chars: limits.resultChars[2], tier3Chars: limits.resultChars[3], budgetChars },
    },
  };
}

export interface ForkResult {
  readonly messages: Transcript;
  readonly edits: readonly Edit[];
  readonly stats: ProcessingStats;
}

const restoreAll: Stage = (messages) =>
  restore(
    messages,
    messages.map((message) => message.id),
  );
