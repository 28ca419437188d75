import type { Transcript } from "../transcript/message.ts";
import { type ToolResult, toolResults } from "../transcript/tool-results.ts";

export type Tier = 1 | 2 | 3;

/** How many results each tier holds, and how much it keeps of a result and of an input. */
export interface TierLimits {
  readonly tier1Count: number;
  readonly tier2Count: number;
  readonly resultChars: Readonly<Record<Tier, number>>;
  readonly paramsChars: Readonly<Record<Tier, number>>;
}

export const FORK_TIER1_COUNT = 5;
export const FORK_TIER2_COUNT = 10;
export const FORK_TIER2_LIMIT = 3_000;
export const FORK_TIER3_LIMIT = 500;
export const FORK_PARAMS_TIER1 = 500;
export const FORK_PARAMS_TIER2 = 200;
export const FORK_PARAMS_TIER3 = 100;

export const FORK_TIER_RECENT_COUNT: number = FORK_TIER1_COUNT;
export const FORK_TIER_MIDDLE_COUNT: number = FORK_TIER2_COUNT;
export const FORK_TIER_RECENT_LIMIT: number = Number.POSITIVE_INFINITY;
export const FORK_TIER_MIDDLE_LIMIT: number = FORK_TIER2_LIMIT;
export const FORK_TIER_OLD_LIMIT: number = FORK_TIER3_LIMIT;
export const FORK_PARAMS_TIER_LIMITS: readonly number[] = [
  FORK_PARAMS_TIER1,
  FORK_PARAMS_TIER2,
  FORK_PARAMS_TIER3,
];

/** The documented limits. */
export const FIXED_TIER_LIMITS: TierLimits = {
  tier1Count: FORK_TIER1_COUNT,
  tier2Count: FORK_TIER2_COUNT,
  resultChars: { 1: FORK_TIER_RECENT_LIMIT, 2: FORK_TIER2_LIMIT, 3: FORK_TIER3_LIMIT },
  paramsChars: { 1: FORK_PARAMS_TIER1, 2: FORK_PARAMS_TIER2, 3: FORK_PARAMS_TIER3 },
};

/** The tier of a result counted from the newest (0); with `totalToolResults`, of one counted from the oldest. */
export function getToolResultTier(
  toolIndex: number,
  totalToolResults?: number,
  limits: Pick<TierLimits, "tier1Count" | "tier2Count"> = FIXED_TIER_LIMITS,
): Tier {
  const indexFromEnd = totalToolResults === undefined ? toolIndex : totalToolResults - 1 - toolIndex;
  if (indexFromEnd < limits.tier1Count) return 1;
  return indexFromEnd < limits.tier1Count + limits.tier2Count ? 2 : 3;
}

/** A result together with its tier. One without text, or already cleared, takes no number and is as old as its neighbours. */
export interface TieredResult {
  readonly result: ToolResult;
  readonly tier: Tier;
  readonly isNumbered: boolean;
}

/** Every visible result of a transcript with its tier, oldest first. */
export function resultsWithTiers(
  transcript: Transcript,
  limits: Pick<TierLimits, "tier1Count" | "tier2Count"> = FIXED_TIER_LIMITS,
): readonly TieredResult[] {
  const results = toolResults(transcript);
  let newerCount = results.filter(takesNumber).length;
  return results.map((result) => {
    const isNumbered = takesNumber(result);
    if (isNumbered) newerCount--;
    return { result, isNumbered, tier: getToolResultTier(newerCount, undefined, limits) };
  });
}

function takesNumber({ text, cleared }: ToolResult): boolean {
  return text !== "" && !cleared;
}
