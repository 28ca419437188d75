import { TOKEN_MODEL } from "./token-model.ts";
import { familyCost, type TokenFamily } from "./token-model-families.ts";
import { createTokenCounter, type ErrorInterval } from "./token-model-tables.ts";

/** About how many tokens a text has. Never negative, never throws. */
export function estimateTokens(text: string, options: EstimateTokensOptions = {}): number {
  const { estimator = "documented", rounding = "nearest", family = "gpt" } = options;
  const scale = estimator === "calibrated" ? familyCost(family).scale : 1;
  return roundTokens(unroundedTokens(text, estimator) * scale, rounding);
}

export interface EstimateTokensOptions {
  readonly estimator?: TokenEstimator;
  readonly rounding?: TokenRounding;
  /** Whose tokens; only `calibrated` tells families apart. Without it, o200k's. */
  readonly family?: TokenFamily;
}

/**
 * `documented`: UTF-16 units divided by 4, as the documented thresholds assume.
 * `calibrated`: a walk over character classes with fitted costs.
 * A function is asked instead; an answer that is no count of tokens is replaced by the documented estimate.
 */
export type TokenEstimator = "documented" | "calibrated" | ((text: string) => number);

/** `nearest` is what OpenCode does; `floor-min-1` gives any text at least one token. */
export type TokenRounding = "nearest" | "ceil" | "floor-min-1";

/** The estimate before scale and rounding, so that parts can be added up first. */
export function unroundedTokens(text: string, estimator: TokenEstimator): number {
  // The type says string; what a transcript holds may not be.
  if (typeof text !== "string" || text === "") return 0;
  if (estimator === "calibrated") return calibratedTokens(text);
  const documentedTokens = text.length / CHARS_PER_TOKEN;
  return estimator === "documented" ? documentedTokens : (askedTokens(text, estimator) ?? documentedTokens);
}

/** Whole tokens from an unrounded estimate. */
export function roundTokens(tokens: number, rounding: TokenRounding): number {
  if (!(tokens > 0)) return 0;
  if (rounding === "ceil") return Math.ceil(tokens);
  return rounding === "nearest" ? Math.round(tokens) : Math.max(1, Math.floor(tokens));
}

/** The multiples of an estimate between which the exact count lies for 95 of 100 texts. */
export function estimateInterval(estimator: TokenEstimator): ErrorInterval {
  return TOKEN_MODEL.intervals[estimator === "calibrated" ? "calibrated" : "documented"];
}

/** What the documented estimate takes for one token. */
export const CHARS_PER_TOKEN = 4;

let counter: ((text: string) => number) | undefined;

function calibratedTokens(text: string): number {
  counter ??= createTokenCounter(TOKEN_MODEL);
  return counter(text);
}

function askedTokens(text: string, estimator: (text: string) => number): number | undefined {
  try {
    const tokens = estimator(text);
    return Number.isFinite(tokens) && tokens >= 0 ? tokens : undefined;
  } catch {
    return undefined;
  }
}
