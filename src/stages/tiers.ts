import {
  anything,
  limitFrom,
  listOf,
  objectOf,
  optionsCheck,
  readOptions,
  required,
  type Shape,
  text,
  withDefault,
} from "../text/check.ts";
import { groupBy } from "../text/group-by.ts";
import { shouldUseHeadTail } from "../text/head-tail.ts";
import { safeJson } from "../text/json.ts";
import {
  cutOutcome,
  handleOf,
  hasOnlyStub,
  isCleared,
  outcomeText,
  pendingCalls,
  type ToolResult,
  toolResults,
} from "../transcript/content.ts";
import { type Handle, replaceCall, type Stage } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import { clipInput } from "./cut-part.ts";

/** Cuts tool results and their inputs by age, in three tiers: the newest results stay whole, older ones keep less. */
export function graduatedTiers(options: GraduatedTiersOptions): Stage {
  const checked = readOptions(TIERS_SHAPE, options);
  return (transcript) => cutsByAge(transcript, checked)(transcript);
}

/** Limits the stage to some messages: those that will be hidden need not be searched for error words. */
export function cutsByAge(
  transcript: Transcript,
  { limits, neverCutTools }: Required<GraduatedTiersOptions>,
): Stage {
  const tiered = groupBy(resultsWithTiers(transcript, limits), ({ result }) => result.message);
  return (messages) => {
    const results = messages.flatMap((message) => tiered.get(message) ?? []);
    const pending = pendingCalls(messages).map((result) => ({ result, tier: 1, isNumbered: false }) as const);
    return [...results, ...pending].flatMap(({ result, tier, isNumbered }) => {
      const { part } = result;
      const keepWhole = !isNumbered || neverCutTools.some((name) => part.tool.includes(name));
      const withOutput = keepWhole ? part : cutOutput(part, limits.resultChars[tier]);
      const cut = cutInput(withOutput, limits.paramsChars[tier]);
      const reason = withOutput === part ? "params" : tier === 2 ? "tier-2" : "tier-3";
      return cut === part ? [] : [replaceCall(result, cut, { stage: STAGE, reason })];
    });
  };
}

/** Options of `graduatedTiers`. */
export interface GraduatedTiersOptions {
  /** How many results are in each tier, and what each keeps. */
  readonly limits: TierLimits;
  /** Tools whose results are never cut; a name matches when it contains one of these. @default ask_user_questions, question, skill */
  readonly neverCutTools?: readonly string[];
}

const STAGE = "graduated-tiers";

const EACH_TIER = objectOf({
  1: required(limitFrom(0)),
  2: required(limitFrom(0)),
  3: required(limitFrom(0)),
});

/** What the limits of the tiers may be; `Infinity` cuts nothing. */
export const TIER_LIMITS_SHAPE: Shape<TierLimits> = {
  tier1Count: required(limitFrom(0)),
  tier2Count: required(limitFrom(0)),
  resultChars: required(EACH_TIER),
  paramsChars: required(EACH_TIER),
};

/** Tier limits contain the counts, so these may be given too. */
const checkCounts = optionsCheck({ ...TIER_LIMITS_SHAPE, resultChars: anything, paramsChars: anything });

/** Tools whose results are never cut. */
export const FORK_NO_TRUNCATION_TOOLS: readonly string[] = ["ask_user_questions", "question", "skill"];

const TIERS_SHAPE: Shape<GraduatedTiersOptions, "neverCutTools"> = {
  limits: required(objectOf(TIER_LIMITS_SHAPE)),
  neverCutTools: withDefault(listOf(text), FORK_NO_TRUNCATION_TOOLS),
};

function cutOutput(part: ToolPart, limitChars: number): ToolPart {
  const text = outcomeText(part.outcome);
  if (text.length <= limitChars || isCutWithin(part.cut?.limitChars, limitChars)) return part;
  const isTailWorthKeeping = part.outcome.status === "failed" || shouldUseHeadTail(part.tool, text);
  return cutOutcome(part, { limitChars, method: isTailWorthKeeping ? "head-tail" : "head" });
}

function cutInput(part: ToolPart, limitChars: number): ToolPart {
  if (part.input === undefined || isCutWithin(part.inputCut?.limitChars, limitChars)) return part;
  const json = safeJson(part.input);
  // The ellipsis would take as much as the cut saves.
  return json.length <= limitChars + 3 ? part : clipInput(part, { json, limitChars });
}

function isCutWithin(cutLimitChars: number | undefined, limitChars: number): boolean {
  return cutLimitChars !== undefined && cutLimitChars <= limitChars;
}

/** The age of a result: 1 is the newest. */
export type Tier = 1 | 2 | 3;

/** How many results the two newest tiers hold. */
export interface TierCounts {
  /** Newest results in the first tier. @default 5 @unit results */
  readonly tier1Count: number;
  /** Results in the second tier, behind those of the first. @default 10 @unit results */
  readonly tier2Count: number;
}

/** How many results each tier holds, and how much it keeps of a result and of an input. */
export interface TierLimits extends TierCounts {
  /** Characters that a result keeps, by tier. @default 1: no limit, 2: 3,000, 3: 500 */
  readonly resultChars: Readonly<Record<Tier, number>>;
  /** Characters that the input of a call keeps, by tier. @default 1: 500, 2: 200, 3: 100 */
  readonly paramsChars: Readonly<Record<Tier, number>>;
}

/** How many of the newest results are in tier 1. */
export const FORK_TIER1_COUNT = 5;
/** How many results behind tier 1 are in tier 2; the rest is tier 3. */
export const FORK_TIER2_COUNT = 10;
/** Characters kept of a result in tier 2. */
export const FORK_TIER2_LIMIT = 3_000;
/** Characters kept of a result in tier 3. */
export const FORK_TIER3_LIMIT = 500;
/** Characters kept of the input of a call in tier 1. */
export const FORK_PARAMS_TIER1 = 500;
/** Characters kept of the input of a call in tier 2. */
export const FORK_PARAMS_TIER2 = 200;
/** Characters kept of the input of a call in tier 3. */
export const FORK_PARAMS_TIER3 = 100;

/** Another name of `FORK_TIER1_COUNT`. */
export const FORK_TIER_RECENT_COUNT: number = FORK_TIER1_COUNT;
/** Another name of `FORK_TIER2_COUNT`. */
export const FORK_TIER_MIDDLE_COUNT: number = FORK_TIER2_COUNT;
/** Characters kept of a result in tier 1: all of them. */
export const FORK_TIER_RECENT_LIMIT: number = Number.POSITIVE_INFINITY;
/** Another name of `FORK_TIER2_LIMIT`. */
export const FORK_TIER_MIDDLE_LIMIT: number = FORK_TIER2_LIMIT;
/** Another name of `FORK_TIER3_LIMIT`. */
export const FORK_TIER_OLD_LIMIT: number = FORK_TIER3_LIMIT;
/** Characters kept of the input of a call, by tier. */
export const FORK_PARAMS_TIER_LIMITS: readonly number[] = [
  FORK_PARAMS_TIER1,
  FORK_PARAMS_TIER2,
  FORK_PARAMS_TIER3,
];

/** The documented limits. */
export const DOCUMENTED_TIER_LIMITS: TierLimits = {
  tier1Count: FORK_TIER1_COUNT,
  tier2Count: FORK_TIER2_COUNT,
  resultChars: { 1: FORK_TIER_RECENT_LIMIT, 2: FORK_TIER2_LIMIT, 3: FORK_TIER3_LIMIT },
  paramsChars: { 1: FORK_PARAMS_TIER1, 2: FORK_PARAMS_TIER2, 3: FORK_PARAMS_TIER3 },
};

/** The tier of a result counted from the newest (0); with `totalToolResults`, of one counted from the oldest. */
export function getToolResultTier(
  toolIndex: number,
  totalToolResults?: number,
  limits: TierCounts = DOCUMENTED_TIER_LIMITS,
): Tier {
  checkCounts(limits);
  return tierOf(totalToolResults === undefined ? toolIndex : totalToolResults - 1 - toolIndex, limits);
}

function tierOf(indexFromEnd: number, limits: TierCounts): Tier {
  if (indexFromEnd < limits.tier1Count) return 1;
  return indexFromEnd < limits.tier1Count + limits.tier2Count ? 2 : 3;
}

/** A result and its tier. Empty and cleared results are not counted and get the tier of their neighbors. */
export interface TieredResult {
  readonly result: ToolResult;
  readonly tier: Tier;
  readonly isNumbered: boolean;
}

/** Every visible result of a transcript with its tier, oldest first. */
export function resultsWithTiers(transcript: Transcript, limits: TierCounts): readonly TieredResult[] {
  checkCounts(limits);
  const results = toolResults(transcript);
  let newerCount = results.filter(takesNumber).length;
  return results.map((result) => {
    const isNumbered = takesNumber(result);
    if (isNumbered) newerCount--;
    return { result, isNumbered, tier: tierOf(newerCount, limits) };
  });
}

function takesNumber({ text, cleared }: ToolResult): boolean {
  return text !== "" && !cleared;
}

/** What each result keeps at least, by age. */
export interface Minimums extends TierCounts {
  readonly resultChars: Readonly<Record<Tier, number>>;
}

/**
 * The minimums for a budget: the documented limits from 200,000 characters on; below, the same share of them, with
 * fewer whole results.
 */
export function minimumsFor(budgetChars: number): Minimums {
  const share = Math.min(1, budgetChars / MINIMUMS_BUDGET_CHARS);
  const { tier1Count, tier2Count } = DOCUMENTED_TIER_LIMITS;
  const wholeCount = Math.max(1, Math.round(tier1Count * share));
  return {
    tier1Count: wholeCount,
    tier2Count: tier1Count + tier2Count - wholeCount,
    resultChars: {
      1: Number.POSITIVE_INFINITY,
      2: Math.round(FORK_TIER2_LIMIT * share),
      3: Math.round(FORK_TIER3_LIMIT * share),
    },
  };
}

/** The budget that the documented limits belong to. */
const MINIMUMS_BUDGET_CHARS = 200_000;
/**
 * Below this budget minimums are not used, because they cost recall: at 25,000 characters usable recall fell from
 * .880 to .835.
 */
export const MINIMUMS_FROM_CHARS = 100_000;

/** The results that have a minimum, by their handle: all that have a text, without those that something newer stands for. */
export function tiersOfResults(transcript: Transcript, minimums: Minimums): ReadonlyMap<Handle, Tier> {
  return new Map(
    resultsWithTiers(transcript, minimums)
      .filter(({ result, isNumbered }) => isNumbered && !hasOnlyStub(result.part))
      .map(({ result, tier }) => [handleOf(result.message, result.partIndex), tier]),
  );
}

/** A result that keeps less than its minimum. */
export interface MissedMinimum {
  readonly handle: Handle;
  readonly tier: Tier;
  /** What it should have kept: its whole length in tier 1. */
  readonly minimumChars: number;
  readonly keptChars: number;
}

/** The results of a transcript that keep less than the minimums of a budget after some edits, newest first. */
export function missedMinimums(
  before: Transcript,
  after: Transcript,
  { budgetChars }: { readonly budgetChars: number },
): readonly MissedMinimum[] {
  const minimums = minimumsFor(budgetChars);
  const kept = new Map(after.map((message) => [message.id, message]));
  const missed: MissedMinimum[] = [];
  for (const { result, tier, isNumbered } of resultsWithTiers(before, minimums)) {
    const { message, partIndex, text } = result;
    if (!isNumbered || hasOnlyStub(result.part)) continue;
    const part = kept.get(message.id)?.parts[partIndex];
    const isShown = part?.type === "tool" && part.agentVisible !== false && !isCleared(part);
    const keptText = isShown ? outcomeText(part.outcome) : "";
    const minimumChars = Math.min(minimums.resultChars[tier], text.length);
    const isKept = minimumChars === text.length ? keptText === text : keptText.length >= minimumChars;
    if (!isKept)
      missed.push({ handle: handleOf(message, partIndex), tier, minimumChars, keptChars: keptText.length });
  }
  return missed.reverse();
}
