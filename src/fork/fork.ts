import { compactionBoundary, findCompactionBoundary, hideFailedSummaries } from "../stages/boundary.ts";
import { charBudget, fitsBudget, hideOldest } from "../stages/char-budget.ts";
import { listFiles, NO_FILES, newestFiles, recordFiles } from "../stages/file-access.ts";
import { fillTranscript } from "../stages/lines/fill.ts";
import { PRUNE_PROTECTED_TOOLS } from "../stages/prune.ts";
import { restore } from "../stages/restore.ts";
import { supersede } from "../stages/supersede.ts";
import {
  cutsByAge,
  DOCUMENTED_TIER_LIMITS,
  graduatedTiers,
  missedMinimums,
  type TierLimits,
} from "../stages/tiers.ts";
import { oneLine } from "../text/clip.ts";
import { fenceData } from "../text/fence.ts";
import { readCarriedFacts } from "../transcript/carried-facts.ts";
import { checkTranscript } from "../transcript/check-transcript.ts";
import { createRenderer, leastChars, memoize, renderMessage } from "../transcript/content.ts";
import { type Edit, runStages, type Stage, type StagesResult } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript, withUniqueIds } from "../transcript/message.ts";
import {
  buildForkPreamble,
  type ContextFrame,
  countResults,
  createContextFrame,
  omitNestedPreamble,
  type ProcessingStats,
  sizeStats,
} from "./context/format.ts";
import { omitForChild } from "./context/omit-for-child.ts";
import { type ForkOptions, type ResolvedForkOptions, readForkOptions } from "./context/options.ts";

/**
 * What a child inherits of its parent's conversation, as messages and as one wrapped text, with every edit that led
 * there and the statistics. Three steps: hide what is not for a child, bring results down to size (by lines, or by age
 * in the documented profile), hide the oldest messages until the rest fits the budget. `context/` holds the options,
 * the text, the preamble and the choice between forking exactly and forking through this pipeline; `life/` is what
 * happens to the child afterwards (`advanceFork`).
 */
export function forkContext(messages: Transcript, options: ForkOptions = {}): ForkContext {
  checkTranscript(messages);
  const render = createRenderer();
  const known = readForkOptions(options);
  const result = runPipeline(messages, known, render);
  const { stats } = result;
  const text = createContextFrame(known).wrap(result.messages.map(render), stats.removedMessages);
  const preamble = buildForkPreamble(stats, { files: forkFiles(messages, { ...options, stats }) });
  return { ...result, text, preamble };
}

/**
 * The files that the conversation of a parent created, changed and deleted, for the preamble of a child that does not get
 * all of it; with what earlier compactions carried.
 */
export function forkFiles(messages: Transcript, { stats, redact }: ForkFilesOptions): readonly string[] {
  const { applied, budgetZone } = stats;
  if (applied?.profile !== "default" || budgetZone !== "over") return [];
  const carried = messages.findLast(({ metadata }) => metadata?.carried !== undefined)?.metadata?.carried;
  const shown = redact === undefined ? messages : runStages(withUniqueIds(messages), [redact]).transcript;
  const files = recordFiles(readCarriedFacts(carried) ?? NO_FILES, shown, oneLine);
  const maxChars = Math.min(MAX_FILES_CHARS, applied.budgetChars * FILES_SHARE);
  return listFiles(newestFiles({ ...files, filesRead: [] }, maxChars), (path) => fenceData(path));
}

interface ForkFilesOptions extends Pick<ForkOptions, "redact"> {
  readonly stats: ProcessingStats;
}

const MAX_FILES_CHARS = 4_000;
const FILES_SHARE = 0.05;

/** The statistics are those of the text. */
export interface ForkContext extends ForkResult {
  /** The messages as one wrapped text. */
  readonly text: string;
  /** Tells the child what was done to what it inherits; goes before the text. */
  readonly preamble: string;
}

/** The messages that a child inherits, by default in the documented profile; `formatMessagesAsContext` makes a text of them. */
export function processMessagesForFork(messages: Transcript, options: ForkOptions = {}): ForkResult {
  checkTranscript(messages);
  return runPipeline(messages, readForkOptions(options, "documented"), createRenderer());
}

/** What a child inherits, and how it came about. */
export interface ForkResult {
  /** The messages that are left, with their parts cut. */
  readonly messages: Transcript;
  /** Every edit that was applied, in order. */
  readonly edits: readonly Edit[];
  readonly stats: ProcessingStats;
}

type Render = (message: Message) => string;

function runPipeline(messages: Transcript, options: ResolvedForkOptions, render: Render): ForkResult {
  const { limits, budgetChars, profile } = options;
  const frame = createContextFrame(options);
  const input = withUniqueIds(messages);

  const prepared = hideParentOnly(input, options);
  const reduced = reduceResults(prepared.transcript, { options, frame, render });
  const hides = reduced.edits.filter(({ type }) => type === "hide-message");
  const budgeted = runStages(reduced.transcript, [
    charBudget({ maxChars: budgetChars, frameChars: () => frame.chars(0), render }),
  ]);
  const kept = budgeted.transcript.filter(isVisibleToModel);

  const budgetEdits = [...hides, ...budgeted.edits];
  const wasFilled = profile === "default" && reduced.edits.length > 0;
  const results = countResults(kept, limits);
  const missed = wasFilled ? missedMinimums(reduced.unfilled, kept, { budgetChars }) : [];
  return {
    messages: kept,
    edits: [...prepared.edits, ...reduced.edits, ...budgeted.edits],
    stats: {
      ...inputStats(input),
      ...results,
      tierDistributionBeforeBudget:
        budgetEdits.length === 0
          ? results.tierDistribution
          : countResults(prepared.transcript, limits).tierDistribution,
      ...sizeStats({ kept, budgetEdits, textChars: frame.textChars, render, wasFilled }),
      ...(missed.length > 0 && { missedMinimums: missed }),
      applied: {
        tier2Chars: limits.resultChars[2],
        tier3Chars: limits.resultChars[3],
        budgetChars,
        ...(profile === "default" && { profile }),
      },
    },
  };
}

/** Hides what was summed up before, and what is not for a child; restores and redacts if asked to. */
function hideParentOnly(input: Transcript, options: Partial<ResolvedForkOptions>): StagesResult {
  const { ownTools, model, pruned, redact } = options;
  return runStages(input, [
    compactionBoundary({ from: "summary" }),
    hideFailedSummaries,
    omitForChild({ ...(ownTools && { ownTools }), ...(model && { model }) }),
    omitNestedPreamble,
    ...(pruned === "restore" ? [restoreAll] : []),
    ...(redact === undefined ? [] : [redact]),
  ]);
}

const restoreAll: Stage = (messages) =>
  restore(
    messages,
    messages.map((message) => message.id),
  );

interface Reduction {
  readonly options: ResolvedForkOptions;
  readonly frame: ContextFrame;
  readonly render: Render;
}

interface ReducedResults extends StagesResult {
  /** The transcript in which lines were chosen: only what something newer stands for is gone. */
  readonly unfilled: Transcript;
}

/** Brings tool results down to size before the hard budget. */
function reduceResults(transcript: Transcript, { options, frame, render }: Reduction): ReducedResults {
  const { profile, limits, neverCutTools, budgetChars: maxChars, task } = options;
  const budget = { maxChars, frameChars: frame.chars, render, leastChars: memoize(leastChars) };
  if (profile === "documented") {
    const cuts = cutsByAge(transcript, { limits, neverCutTools });
    const cut = memoize((message: Message) => runStages([message], [cuts]));
    // Cut when the budget asks for its size: what does not fit is never searched for words of errors.
    const renderCut = (message: Message) => render(cut(message).transcript[0] as Message);
    const hides = hideOldest(transcript, {
      ...budget,
      frameChars: () => frame.chars(0),
      render: renderCut,
    }).edits;
    const left = runStages(transcript, [() => hides])
      .transcript.filter(isVisibleToModel)
      .map(cut);
    const edits = [...left.flatMap((message) => message.edits), ...hides];
    return { transcript: left.flatMap((message) => message.transcript), edits, unfilled: transcript };
  }
  if (fitsBudget(transcript, budget)) return { transcript, edits: [], unfilled: transcript };
  const protectedTools = [...PRUNE_PROTECTED_TOOLS, ...neverCutTools];
  const superseded = runStages(transcript, [supersede({ protectTurns: 0, protectedTools })]);
  const filled = fillTranscript(superseded.transcript, {
    ...budget,
    neverCutTools,
    ...(task !== undefined && { task }),
  });
  const edits = [...superseded.edits, ...filled.edits];
  return { transcript: filled.transcript, edits, unfilled: superseded.transcript };
}

function inputStats(input: Transcript) {
  const compactionSliceIndex = findCompactionBoundary(input);
  return {
    originalCount: input.length,
    compactionDetected: compactionSliceIndex !== -1,
    compactionSliceIndex,
  };
}

/** Statistics of a conversation that a child inherits as it is: counted, without the pipeline; no limit is named, since none applies. */
export function uncutStats(messages: Transcript): ProcessingStats {
  const input = withUniqueIds(messages);
  const kept = hideParentOnly(input, {}).transcript.filter(isVisibleToModel);
  const results = countResults(kept, { tier1Count: Number.POSITIVE_INFINITY, tier2Count: 0 });
  const { textChars } = createContextFrame({ budgetChars: Number.POSITIVE_INFINITY });
  return {
    ...inputStats(input),
    ...results,
    tierDistributionBeforeBudget: results.tierDistribution,
    ...sizeStats({ kept, budgetEdits: [], textChars, render: renderMessage }),
  };
}

/** The newest completed summary, the tail kept with it, and everything newer; all messages when there is no summary. */
export function sliceFromCompactionBoundary(messages: Transcript): Transcript {
  return runStages(messages, [compactionBoundary({ from: "summary" })]).transcript.filter(isVisibleToModel);
}

/** The messages with their tool results and inputs cut by age. */
export function applyGraduatedTruncation(
  messages: Transcript,
  limits: TierLimits = DOCUMENTED_TIER_LIMITS,
): Transcript {
  return runStages(messages, [graduatedTiers({ limits })]).transcript;
}
