import { groupBy } from "../text/group-by.ts";
import { meanOf, quantileOf } from "./bootstrap.ts";
import type { CompactionSize, ReadCount } from "./measure-compaction.ts";
import type { SessionMeasure } from "./measure-session.ts";
import type { TokenStep } from "./measure-tokens.ts";

/** What the real compactions of the sessions kept, next to what policies keep. */
export interface CompactionSummary {
  readonly compactions: number;
  readonly historyChars: number;
  readonly summaryChars: number;
  readonly ways: readonly WayFigures[];
  /** Reads of a file that had been touched before, a point of ten steps. */
  readonly rereadsAfter: number;
  readonly rereadsElsewhere: number;
}

export interface WayFigures {
  readonly way: string;
  readonly size: CompactionSize;
  readonly mention: number;
  readonly usable: number;
  readonly editLines: number;
}

/** The real summaries of all sessions; undefined when there are none. */
export function summarizeCompaction(measures: readonly SessionMeasure[]): CompactionSummary | undefined {
  const compactions = measures.flatMap(({ compaction }) => compaction.compactions);
  if (compactions.length === 0) return undefined;
  const ways = groupBy(
    compactions.flatMap((compaction) => compaction.ways),
    ({ way, size }) => `${way}@${size}`,
  );
  return {
    compactions: compactions.length,
    historyChars: meanOf(compactions.map(({ historyChars }) => historyChars)),
    summaryChars: meanOf(compactions.map(({ summaryChars }) => summaryChars)),
    ways: [...ways.values()].flatMap((results) =>
      results.slice(0, 1).map(({ way, size }) => ({
        way,
        size,
        mention: meanOf(results.map(({ mentioned }) => mentioned)),
        usable: meanOf(results.map(({ usable }) => usable)),
        editLines: meanOf(results.flatMap(({ editLines }) => editLines ?? [])),
      })),
    ),
    rereadsAfter: rereads(measures.flatMap(({ compaction }) => compaction.readsAfter)),
    rereadsElsewhere: rereads(measures.flatMap(({ compaction }) => compaction.readsElsewhere)),
  };
}

function rereads(counts: readonly ReadCount[]): number {
  return meanOf(counts.map((count) => count.rereads));
}

/** What a way to hold the window costs and keeps. */
export interface CostFigures {
  readonly policy: string;
  /** As multiples of the unmanaged window. */
  readonly cost: number;
  readonly sent: number;
  /** The share of what was sent that the provider had cached. */
  readonly cached: number;
  readonly medianPeakChars: number;
  readonly usable: number;
  readonly steps: number;
  readonly sessions: number;
}

/** The replayed windows of all sessions, the unmanaged one first. */
export function summarizeCost(measures: readonly SessionMeasure[]): readonly CostFigures[] {
  const policies = [
    ...groupBy(
      measures.flatMap(({ cost }) => cost),
      ({ policy }) => policy,
    ),
  ];
  const base = policies[0]?.[1] ?? [];
  return policies.map(([policy, costs]) => ({
    policy,
    cost: total(costs, "costChars") / total(base, "costChars"),
    sent: total(costs, "sentChars") / total(base, "sentChars"),
    cached: total(costs, "cachedChars") / total(costs, "sentChars"),
    medianPeakChars: quantileOf(
      costs.map(({ peakChars }) => peakChars),
      0.5,
    ),
    usable: meanOf(costs.filter(({ usable }) => usable.length > 0).map(({ usable }) => meanOf(usable))),
    steps: total(costs, "steps"),
    sessions: costs.length,
  }));
}

function total<K extends string>(values: readonly Readonly<Record<K, number>>[], key: K): number {
  return values.reduce((sum, value) => sum + value[key], 0);
}

/** How far an estimate is from what providers counted. */
export interface TokenFigures {
  readonly model: string;
  readonly steps: number;
  readonly calibrated: TokenError;
  readonly documented: TokenError;
}

export interface TokenError {
  readonly median: number;
  readonly p90: number;
  /** Of all steps together; below 0 the estimate is too low. */
  readonly bias: number;
}

/** Errors over all steps first, then by model, the most used first. */
export function summarizeTokens(measures: readonly SessionMeasure[]): readonly TokenFigures[] {
  const steps = measures.flatMap(({ tokens }) => tokens);
  if (steps.length === 0) return [];
  const models = [...groupBy(steps, ({ model }) => model)].sort(
    ([, one], [, other]) => other.length - one.length,
  );
  return [["all", steps] as const, ...models].map(([model, ofModel]) => ({
    model,
    steps: ofModel.length,
    calibrated: errorOf(ofModel, "calibratedTokens"),
    documented: errorOf(ofModel, "documentedTokens"),
  }));
}

function errorOf(steps: readonly TokenStep[], estimate: "calibratedTokens" | "documentedTokens"): TokenError {
  const errors = steps.map((step) => Math.abs(step[estimate] / step.usageTokens - 1));
  return {
    median: quantileOf(errors, 0.5),
    p90: quantileOf(errors, 0.9),
    bias: total(steps, estimate) / total(steps, "usageTokens") - 1,
  };
}

/** How long a call of a policy takes. */
export interface SpeedFigures {
  readonly policy: string;
  readonly budgetChars: number;
  readonly histories: number;
  readonly medianMilliseconds: number;
  readonly p95Milliseconds: number;
  /** As multiples of writing the history as plain text. */
  readonly medianTimesPlain: number;
  readonly p95TimesPlain: number;
}

/** The times of every policy at every budget. */
export function summarizeSpeed(measures: readonly SessionMeasure[]): readonly SpeedFigures[] {
  const samples = groupBy(
    measures.flatMap(({ speed }) => speed),
    ({ policy, budgetChars }) => `${policy}@${budgetChars}`,
  );
  return [...samples.values()].flatMap((ofOne) => {
    const times = ofOne.map(({ milliseconds }) => milliseconds);
    const ratios = ofOne.map(({ timesPlain }) => timesPlain);
    return ofOne.slice(0, 1).map(({ policy, budgetChars }) => ({
      policy,
      budgetChars,
      histories: ofOne.length,
      medianMilliseconds: quantileOf(times, 0.5),
      p95Milliseconds: quantileOf(times, 0.95),
      medianTimesPlain: quantileOf(ratios, 0.5),
      p95TimesPlain: quantileOf(ratios, 0.95),
    }));
  });
}
