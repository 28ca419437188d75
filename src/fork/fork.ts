import { compactionBoundary, findCompactionBoundary } from "../stages/boundary.ts";
import { charBudget, ifOverBudget } from "../stages/budget.ts";
import { fillTranscript } from "../stages/lines/fill.ts";
import { PRUNE_PROTECTED_TOOLS, restore } from "../stages/prune.ts";
import { redactTranscript } from "../stages/redact.ts";
import { supersede } from "../stages/supersede.ts";
import { FIXED_TIER_LIMITS, graduatedTiers, type TierLimits } from "../stages/tiers.ts";
import { type Edit, runStages, type Stage, type StagesResult } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript, withUniqueIds } from "../transcript/message.ts";
import { createRenderer } from "../transcript/render.ts";
import { formatRendered } from "./context/format.ts";
import { omitForChild } from "./context/omit.ts";
import { type ForkOptions, type ResolvedForkOptions, resolveForkOptions } from "./context/options.ts";
import { omitNestedPreamble } from "./context/preamble.ts";
import {
  type ContextFrame,
  countResults,
  createContextFrame,
  type ProcessingStats,
  sizeStats,
} from "./context/stats.ts";

/**
 * What a child inherits, as messages and as one wrapped text: what `processMessagesForFork` and then
 * `formatMessagesAsContext` give, but everything is rendered once.
 */
export function forkContext(messages: Transcript, options: ForkOptions = {}): ForkContext {
  const render = createRenderer();
  const result = processRendered(messages, { ...options, render });
  const { stats } = result;
  return { ...result, ...formatRendered(result.messages, { ...options, stats, render }) };
}

/** The statistics are those of the text. */
export interface ForkContext extends ForkResult {
  readonly text: string;
}

/** What a child inherits of its parent's conversation: the messages, every edit that led to them, and the statistics. */
export function processMessagesForFork(messages: Transcript, options: ForkOptions = {}): ForkResult {
  return processRendered(messages, { ...options, render: createRenderer() });
}

/** The same, with texts that someone else may need as well. */
function processRendered(messages: Transcript, options: RenderedForkOptions): ForkResult {
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
    ifOverBudget(budget, supersede({ protectTurns: 0, protectedTools })),
  ]);
  const filled = fillTranscript(superseded.transcript, { ...budget, neverCutTools });
  return { transcript: filled.transcript, edits: [...superseded.edits, ...filled.edits] };
}

interface RenderedForkOptions extends ForkOptions {
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

/** The newest completed summary, the tail kept with it, and everything newer; all messages when there is no summary. */
export function sliceFromCompactionBoundary(messages: Transcript): Transcript {
  return runStages(messages, [compactionBoundary({ from: "summary" })]).transcript.filter(isVisibleToModel);
}

/** The messages with their tool results and inputs cut by age. */
export function applyGraduatedTruncation(
  messages: Transcript,
  limits: TierLimits = FIXED_TIER_LIMITS,
): Transcript {
  return runStages(messages, [graduatedTiers({ limits })]).transcript;
}

/** What the pipeline would count of a conversation that a child inherits as it is; no limit is named, since none applied. */
export function uncutStats(transcript: Transcript): ProcessingStats {
  const { applied: _, ...stats } = processMessagesForFork(transcript, UNCUT).stats;
  return stats;
}

const ALL = Number.POSITIVE_INFINITY;

const UNCUT: ForkOptions = {
  budgetChars: ALL,
  limits: {
    tier1Count: ALL,
    tier2Count: 0,
    resultChars: { 1: ALL, 2: ALL, 3: ALL },
    paramsChars: { 1: ALL, 2: ALL, 3: ALL },
  },
};
