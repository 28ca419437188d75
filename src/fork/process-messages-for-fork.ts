import { charBudget } from "../stages/char-budget.ts";
import { compactionBoundary, findCompactionBoundary } from "../stages/compaction-boundary.ts";
import { fillTranscript } from "../stages/fill/fill-budget.ts";
import { whenOver } from "../stages/fill/when-over.ts";
import { graduatedTiers } from "../stages/graduated-tiers.ts";
import { omitForChild } from "../stages/omit-for-child.ts";
import { PRUNE_PROTECTED_TOOLS } from "../stages/prune-guard.ts";
import { restore } from "../stages/prune-restore.ts";
import { redactTranscript } from "../stages/redact-transcript.ts";
import { supersede } from "../stages/supersede.ts";
import type { Edit, Stage } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { createRenderer } from "../transcript/render.ts";
import { runStages, type StagesResult } from "../transcript/run-stages.ts";
import { withUniqueIds } from "../transcript/unique-ids.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { type ContextFrame, createContextFrame } from "./context-frame.ts";
import { type ForkOptions, type ResolvedForkOptions, resolveForkOptions } from "./fork-options.ts";
import { omitNestedPreamble } from "./omit-nested-preamble.ts";
import { countResults, type ProcessingStats, sizeStats } from "./processing-stats.ts";

/** What a child inherits of its parent's conversation: the messages, every edit that led to them, and the statistics. */
export function processMessagesForFork(messages: Transcript, options: ForkOptions = {}): ForkResult {
  return processRendered(messages, { ...options, render: createRenderer() });
}

/** The same, with texts that someone else may need as well. */
export function processRendered(messages: Transcript, options: RenderedForkOptions): ForkResult {
  const { render, ...forkOptions } = options;
  const resolved = resolveForkOptions(forkOptions);
  const { limits, budgetChars, profile } = resolved;
  const frame = createContextFrame(resolved.sessionId);
  const input = withUniqueIds(messages);

  const prepared = runStages(input, [
    compactionBoundary({ from: "summary" }),
    omitForChild({ ownTools: resolved.ownTools }),
    omitNestedPreamble,
    ...(resolved.pruned === "restore" ? [restoreAll] : []),
    ...(resolved.secrets === "redact" ? [redactTranscript(resolved.redaction)] : []),
  ]);
  const shaped = shape(prepared.transcript, { resolved, frame, render });
  const hides = shaped.edits.filter(({ type }) => type === "hide-message");
  const budgeted = runStages(shaped.transcript, [
    charBudget({
      maxChars: budgetChars,
      frameChars: (hidden) => frame.chars(hidden + hides.length),
      render,
    }),
  ]);
  const kept = budgeted.transcript.filter(isVisibleToModel);

  const budgetEdits = [...hides, ...budgeted.edits];
  const results = countResults(kept, limits);
  const beforeBudget = profile === "fill" ? prepared : shaped;
  const compactionSliceIndex = findCompactionBoundary(input);
  return {
    messages: kept,
    edits: [...prepared.edits, ...shaped.edits, ...budgeted.edits],
    stats: {
      originalCount: messages.length,
      compactionDetected: compactionSliceIndex !== -1,
      compactionSliceIndex,
      ...results,
      tierDistributionBeforeBudget:
        budgetEdits.length === 0
          ? results.tierDistribution
          : countResults(beforeBudget.transcript, limits).tierDistribution,
      ...sizeStats({
        kept,
        budgetEdits,
        frame,
        render,
        wasFilled: profile === "fill" && shaped.edits.length > 0,
      }),
      applied: {
        tier2Chars: limits.resultChars[2],
        tier3Chars: limits.resultChars[3],
        budgetChars,
        ...(profile === "fill" && { profile }),
      },
    },
  };
}

interface Shaping {
  readonly resolved: ResolvedForkOptions;
  readonly frame: ContextFrame;
  readonly render: (message: Message) => string;
}

/** Brings the texts down to size before the hard budget. */
function shape(transcript: Transcript, { resolved, frame, render }: Shaping): StagesResult {
  const { profile, limits, neverCutTools, budgetChars: maxChars } = resolved;
  if (profile === "fixed") return runStages(transcript, [graduatedTiers({ limits, neverCutTools })]);
  const budget = { maxChars, frameChars: frame.chars, render };
  const protectedTools = [...PRUNE_PROTECTED_TOOLS, ...neverCutTools];
  const superseded = runStages(transcript, [
    whenOver(budget, supersede({ protectTurns: 0, protectedTools })),
  ]);
  const filled = fillTranscript(superseded.transcript, { ...budget, neverCutTools });
  return { transcript: filled.transcript, edits: [...superseded.edits, ...filled.edits] };
}

export interface RenderedForkOptions extends ForkOptions {
  /** How a message becomes text, if it was rendered before and need not be again. */
  readonly render: (message: Message) => string;
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
