import type { Handle } from "../../transcript/edit.ts";
import type { Transcript } from "../../transcript/message.ts";
import { handleOf, hasOnlyStub, toolResults } from "../../transcript/tool-results.ts";
import {
  DOCUMENTED_TIER_LIMITS,
  FORK_TIER2_LIMIT,
  FORK_TIER3_LIMIT,
  resultsWithTiers,
  type Tier,
  type TierCounts,
} from "../tiers.ts";

/** What each result keeps at least, by age. */
export interface Floors extends TierCounts {
  readonly resultChars: Readonly<Record<Tier, number>>;
}

/**
 * The floors at a budget: the documented limits from 200,000 characters on, and that share of them below, where fewer
 * results stay whole and the others keep less.
 */
export function floorsFor(budgetChars: number): Floors {
  const share = Math.min(1, budgetChars / FLOORS_BUDGET_CHARS);
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
const FLOORS_BUDGET_CHARS = 200_000;
/** From this budget on floors are kept. Below, they would cost recall: `docs/decisions/0028-the-documents-in-force.md`. */
export const FLOORS_FROM_CHARS = 100_000;

/** The results that have a floor, by their handle: all that have a text, without those that something newer stands for. */
export function tiersOfResults(transcript: Transcript, floors: Floors): ReadonlyMap<Handle, Tier> {
  return new Map(
    resultsWithTiers(transcript, floors)
      .filter(({ result, isNumbered }) => isNumbered && !hasOnlyStub(result.part))
      .map(({ result, tier }) => [handleOf(result.message, result.partIndex), tier]),
  );
}

/** A result that keeps less than its floor. */
export interface MissedFloor {
  readonly handle: Handle;
  readonly tier: Tier;
  /** What it should have kept: its whole length in tier 1. */
  readonly floorChars: number;
  readonly keptChars: number;
}

/** The results of a transcript that keep less than the floors of a budget after some edits, newest first. */
export function missedFloors(
  before: Transcript,
  after: Transcript,
  { budgetChars }: { readonly budgetChars: number },
): readonly MissedFloor[] {
  const floors = floorsFor(budgetChars);
  const tiers = tiersOfResults(before, floors);
  const keptTexts = new Map(
    toolResults(after).map(({ message, partIndex, text, cleared }) => [
      handleOf(message, partIndex),
      cleared ? "" : text,
    ]),
  );
  const missed: MissedFloor[] = [];
  for (const { message, partIndex, text } of toolResults(before)) {
    const handle = handleOf(message, partIndex);
    const tier = tiers.get(handle);
    if (tier === undefined) continue;
    const kept = keptTexts.get(handle) ?? "";
    const floorChars = Math.min(floors.resultChars[tier], text.length);
    const isKept = floorChars === text.length ? kept === text : kept.length >= floorChars;
    if (!isKept) missed.push({ handle, tier, floorChars, keptChars: kept.length });
  }
  return missed.reverse();
}
