import { ConfigurationError } from "../text/configuration-error.ts";
import type { Edit } from "../transcript/edit.ts";
import { type CachedWire, layOutWire, type WireRequest } from "./plan-edits-wire.ts";
import { limitProblems } from "./prune-guard.ts";

/**
 * Says which edits pay for themselves: what they save on every request to come, against sending again all that the
 * provider had cached behind the first of them. The others wait until they pay, or until the cache is gone anyway.
 *
 * A cache ends at the first changed byte, so once a place is edited everything behind it can be edited at no further
 * cost: the best choice is always all edits from some place on.
 */
export function planEdits(request: PlanEditsRequest): EditPlan {
  const problems = problemsOf(request);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const wire = layOutWire(request);
  const prices = pricesOf(request, wire);
  const tallies = tallyFromEachPlace(wire, prices);
  const chosen = choose(tallies, request.neededTokens ?? 0);
  const isChosen = (_: Edit, index: number): boolean => wire.placeOfEdit(index) >= chosen.firstIndex;
  return {
    apply: request.edits.filter(isChosen),
    wait: request.edits.filter((edit, index) => !isChosen(edit, index)),
    arithmetic: { ...prices, chosen, all: tallies.at(-1) ?? NOTHING },
  };
}

export interface PlanEditsRequest extends WireRequest {
  /** Requests still to come, counting the next one. */
  readonly expectedTurns: number;
  /** Time since the last request of this conversation; unset means that its cache is still there. */
  readonly idleMs?: number;
  /** Tokens that have to go whatever it costs, because the window is full. */
  readonly neededTokens?: number;
}

export interface EditPlan {
  /** In the order in which they were given. */
  readonly apply: readonly Edit[];
  readonly wait: readonly Edit[];
  readonly arithmetic: CacheArithmetic;
}

/** Every figure behind a plan. `BaseTokens` are weighed by price: one costs as much as an ordinary input token. */
export interface CacheArithmetic extends CachePrices {
  readonly chosen: EditTally;
  /** The same sums for all edits together, whether or not they are applied. */
  readonly all: EditTally;
}

export interface CachePrices {
  /** Cold: the prefix has expired, or nothing was sent yet. Uncached: the provider keeps no prompt, or none so short. */
  readonly cache: "warm" | "cold" | "uncached";
  readonly cachedTokens: number;
  readonly readMultiplier: number;
  readonly writeMultiplier: number;
  readonly expectedTurns: number;
}

/** The sums for all edits from one place on. */
export interface EditTally {
  /** Where the first change is among the messages that are sent; Infinity when none of them changes. */
  readonly firstIndex: number;
  readonly savedTokensPerTurn: number;
  /** Cached tokens that have to be sent again. */
  readonly rewrittenTokens: number;
  readonly savedBaseTokens: number;
  readonly rewriteBaseTokens: number;
  /** What is left of the saving once the rewriting is paid. */
  readonly netBaseTokens: number;
  /** The number of requests from which on it pays. */
  readonly breakEvenTurns: number;
}

const NOTHING: EditTally = {
  firstIndex: Number.POSITIVE_INFINITY,
  savedTokensPerTurn: 0,
  rewrittenTokens: 0,
  savedBaseTokens: 0,
  rewriteBaseTokens: 0,
  netBaseTokens: 0,
  breakEvenTurns: Number.POSITIVE_INFINITY,
};

function problemsOf(request: PlanEditsRequest): readonly string[] {
  const { profile, expectedTurns, idleMs = 0, leadingTokens = 0, neededTokens = 0 } = request;
  const { readMultiplier, writeMultiplier, minimumTokens, stepTokens } = profile;
  const problems = limitProblems({
    readMultiplier,
    writeMultiplier,
    minimumTokens,
    leadingTokens,
    neededTokens,
  });
  const isTimeUsable = idleMs >= 0 && profile.ttlMs >= 0;
  return [
    ...problems,
    ...(stepTokens >= 1 ? [] : [`stepTokens is ${stepTokens}; give 1 or more`]),
    ...(isTimeUsable
      ? []
      : [`idleMs is ${idleMs} and ttlMs is ${profile.ttlMs}; give milliseconds, zero or more`]),
    ...(expectedTurns >= 1 && Number.isFinite(expectedTurns)
      ? []
      : [`expectedTurns is ${expectedTurns}; give a finite number of 1 or more, counting the next request`]),
  ];
}

function pricesOf({ profile, expectedTurns, idleMs = 0 }: PlanEditsRequest, wire: CachedWire): CachePrices {
  const { readMultiplier, writeMultiplier } = profile;
  const { cachedTokens } = wire;
  if (readMultiplier >= writeMultiplier || wire.totalTokens < profile.minimumTokens) {
    return { cache: "uncached", cachedTokens: 0, readMultiplier: 1, writeMultiplier: 1, expectedTurns };
  }
  const isCold = idleMs > profile.ttlMs || cachedTokens < profile.minimumTokens;
  const state = isCold
    ? ({ cache: "cold", cachedTokens: 0 } as const)
    : ({ cache: "warm", cachedTokens } as const);
  return { ...state, readMultiplier, writeMultiplier, expectedTurns };
}

/** One tally for each place with an edit, from the last place to the first. */
function tallyFromEachPlace(wire: CachedWire, prices: CachePrices): readonly EditTally[] {
  const { cache, readMultiplier, writeMultiplier, expectedTurns } = prices;
  const premium = writeMultiplier - readMultiplier;
  const tallies: EditTally[] = [];
  let cachedSavedTokens = 0;
  let freshSavedTokens = 0;
  for (const { index, savedTokens, isCached, cachedTokensBehind } of wire.editedPlaces) {
    if (isCached && cache === "warm") cachedSavedTokens += savedTokens;
    else freshSavedTokens += savedTokens;
    const savedTokensPerTurn = cachedSavedTokens + freshSavedTokens;
    const rewrittenTokens = cache === "warm" ? Math.max(0, cachedTokensBehind - cachedSavedTokens) : 0;
    // What was not cached yet would have been written once before it could be read.
    const freshBaseTokens = freshSavedTokens * premium;
    const savedBaseTokens = savedTokensPerTurn * expectedTurns * readMultiplier + freshBaseTokens;
    const rewriteBaseTokens = rewrittenTokens * premium;
    tallies.push({
      firstIndex: index,
      savedTokensPerTurn,
      rewrittenTokens,
      savedBaseTokens,
      rewriteBaseTokens,
      netBaseTokens: savedBaseTokens - rewriteBaseTokens,
      breakEvenTurns: turnsUntil(rewriteBaseTokens - freshBaseTokens, savedTokensPerTurn * readMultiplier),
    });
  }
  return tallies;
}

function turnsUntil(costBaseTokens: number, savedBaseTokensPerTurn: number): number {
  if (savedBaseTokensPerTurn <= 0) return costBaseTokens < 0 ? 0 : Number.POSITIVE_INFINITY;
  return Math.max(0, costBaseTokens / savedBaseTokensPerTurn);
}

/** The tally with the largest net saving; with a need, the cheapest that meets it, or all edits when none does. */
function choose(tallies: readonly EditTally[], neededTokens: number): EditTally {
  if (neededTokens > 0) {
    const enough = tallies.filter((tally) => tally.savedTokensPerTurn >= neededTokens);
    return bestOf(enough) ?? tallies.at(-1) ?? NOTHING;
  }
  const best = bestOf(tallies);
  return best !== undefined && best.netBaseTokens > 0 ? best : NOTHING;
}

function bestOf([first, ...others]: readonly EditTally[]): EditTally | undefined {
  if (first === undefined) return undefined;
  return others.reduce((best, tally) => (tally.netBaseTokens > best.netBaseTokens ? tally : best), first);
}
