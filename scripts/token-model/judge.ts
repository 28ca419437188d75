import type { ErrorInterval } from "../../src/text/tokens/automaton.ts";
import { exactTokens } from "./exact-tokens.ts";
import { heldOutLexicon } from "./lexica.ts";
import { createRandom } from "./random.ts";
import { type Sampler, sampleChunks } from "./sampler.ts";

/** How far an estimator is from the exact count, over texts of one kind. */
export interface Judgement {
  readonly kind: string;
  /** Mean of estimate / exact - 1. */
  readonly meanError: number;
  /** The absolute error that 95 of 100 texts stay within. */
  readonly p95Error: number;
  readonly texts: number;
}

/** A text and its exact number of tokens. */
export interface CountedText {
  readonly text: string;
  readonly tokens: number;
}

/** Texts of 4,000 characters, made from words that the fit has not seen. */
export function heldOutTexts(sampler: Sampler, { seed, count }: HeldOutOptions): readonly CountedText[] {
  const random = createRandom(seed);
  return sampleChunks(sampler, { random, lexicon: heldOutLexicon, chars: 4000, count }).map(counted);
}

export interface HeldOutOptions {
  readonly seed: number;
  readonly count: number;
}

export function counted(text: string): CountedText {
  return { text, tokens: exactTokens(text) };
}

/** The error of an estimator over texts of one kind. */
export function judge(
  kind: string,
  texts: readonly CountedText[],
  estimate: (text: string) => number,
): Judgement {
  const errors = texts.map(({ text, tokens }) => estimate(text) / tokens - 1);
  return {
    kind,
    meanError: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    p95Error: quantile(errors.map(Math.abs), 0.95),
    texts: texts.length,
  };
}

/**
 * The multiples of the estimate between which the exact count lies for 95 of 100 texts, but at least 15 %
 * to either side: real texts vary more than made ones.
 */
export function errorInterval(
  texts: readonly CountedText[],
  estimate: (text: string) => number,
): ErrorInterval {
  const ratios = texts.map(({ text, tokens }) => tokens / estimate(text));
  return {
    low: Math.min(0.85, rounded(quantile(ratios, 0.025))),
    high: Math.max(1.15, rounded(quantile(ratios, 0.975))),
  };
}

/** Judgements as a table, errors in per cent. */
export function judgementTable(judgements: readonly Judgement[]): string {
  const percent = (share: number): string => `${share > 0 ? "+" : ""}${(share * 100).toFixed(1)}`;
  return judgements
    .map(
      ({ kind, meanError, p95Error, texts }) =>
        `${kind.padEnd(24)} ${percent(meanError).padStart(6)} % [${(p95Error * 100).toFixed(1).padStart(4)}]  ${texts} texts`,
    )
    .join("\n");
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
