import { callback, either, NO_OPTIONS, oneOf, optionsCheck, type Shape } from "../check.ts";
import {
  type ErrorInterval,
  PAIR_DIGITS,
  PAIR_STEP_TOKENS,
  ROW_COUNT,
  SYMBOL_COUNT,
  stepOf,
  symbolTable,
  type TokenModel,
} from "./automaton.ts";
import { TOKEN_MODEL } from "./model.ts";

/** About how many tokens a text has. Never negative; throws only for options that cannot be used. */
export function estimateTokens(text: string, options: EstimateTokensOptions = NO_OPTIONS): number {
  checkOptions(options);
  const { estimator = "documented", rounding = "nearest", family = "gpt" } = options;
  const scale = estimator === "calibrated" ? familyCost(family).scale : 1;
  return roundTokens(unroundedTokens(text, estimator) * scale, rounding);
}

/** How the tokens of a text are counted. */
export interface EstimateTokensOptions {
  /** How tokens are counted; characters / 4 when unset. */
  readonly estimator?: TokenEstimator;
  /** What becomes of a fraction of a token. */
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
type TokenRounding = "nearest" | "ceil" | "floor-min-1";

/** Models that count alike. A family is named after its first model; `claude` begins with Opus 4.5, `gpt` ends before GPT-5.5. */
export type TokenFamily = (typeof TOKEN_FAMILIES)[number];

const TOKEN_FAMILIES = ["gpt", "gpt-5.5", "claude-3.7", "claude", "claude-4.7", "gemini", "other"] as const;

/** What chooses the estimator and the family, here and wherever tokens are estimated. */
export const ESTIMATOR_SHAPE: Shape<Pick<EstimateTokensOptions, "estimator" | "family">> = {
  estimator: either(oneOf("documented", "calibrated"), callback),
  family: oneOf(...TOKEN_FAMILIES),
};

/** What the options of `estimateTokens` may be. */
export const ESTIMATE_TOKENS_SHAPE: Shape<EstimateTokensOptions> = {
  ...ESTIMATOR_SHAPE,
  rounding: oneOf("nearest", "ceil", "floor-min-1"),
};

const checkOptions = optionsCheck(ESTIMATE_TOKENS_SHAPE);

/** The estimate before scale and rounding, so that parts can be added up first. */
export function unroundedTokens(text: string, estimator: TokenEstimator): number {
  // A transcript from outside may hold other values than its type says.
  if (typeof text !== "string" || text === "") return 0;
  if (estimator === "calibrated") return calibratedTokens(text);
  const documentedTokens = text.length / CHARS_PER_TOKEN;
  return estimator === "documented" ? documentedTokens : (callEstimator(text, estimator) ?? documentedTokens);
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

function callEstimator(text: string, estimator: (text: string) => number): number | undefined {
  try {
    const tokens = estimator(text);
    return Number.isFinite(tokens) && tokens >= 0 ? tokens : undefined;
  } catch {
    return undefined;
  }
}

/** How a family of models counts, beside o200k, which the calibrated estimate follows. */
interface TokenFamilyCost {
  /** Tokens of the family for one token of o200k. */
  readonly scale: number;
  /** Tokens around a tool call beyond its name, input and output. */
  readonly callTokens: number;
  /** How far the scale may be off, as a share of it. */
  readonly scaleMargin: number;
  /** Which thoughts the model reads again: those of every turn, or of the running one alone. */
  readonly thoughts: "every-turn" | "last-turn";
}

// Fitted to the usage that providers reported for recorded sessions: research/decisions/0003-token-estimate.md.
const FAMILY_COSTS: Readonly<Record<TokenFamily, TokenFamilyCost>> = {
  gpt: { scale: 1, callTokens: 12, scaleMargin: 0, thoughts: "last-turn" },
  "gpt-5.5": { scale: 1, callTokens: 12, scaleMargin: 0.05, thoughts: "last-turn" },
  "claude-3.7": { scale: 1.13, callTokens: 80, scaleMargin: 0.1, thoughts: "last-turn" },
  claude: { scale: 1.13, callTokens: 80, scaleMargin: 0.1, thoughts: "every-turn" },
  "claude-4.7": { scale: 1.65, callTokens: 60, scaleMargin: 0.1, thoughts: "every-turn" },
  gemini: { scale: 1.1, callTokens: 40, scaleMargin: 0.15, thoughts: "every-turn" },
  other: { scale: 1.08, callTokens: 40, scaleMargin: 0.15, thoughts: "every-turn" },
};

/** The costs of a family. */
export function familyCost(family: TokenFamily): TokenFamilyCost {
  return FAMILY_COSTS[family];
}

/** A family by its name; one that we do not know counts as `other`. */
export function tokenFamily(name: string): TokenFamily {
  return TOKEN_FAMILIES.find((family) => family === name) ?? "other";
}

/** A counter that walks a text once, looking up one step for each UTF-16 unit. */
export function createTokenCounter(model: TokenModel): (text: string) => number {
  const symbols = symbolTable(model.commonHan);
  const steps = packSteps(costsOf(model));
  return (text) => {
    let units = 0;
    let row = 0;
    for (let index = 0; index < text.length; index++) {
      const step = steps[row | (symbols[text.charCodeAt(index)] ?? 0)] ?? 0;
      units += step >> 16;
      row = step & 0xffff;
    }
    return units / UNITS_PER_TOKEN;
  };
}

const ROW_STRIDE = 128;
const UNITS_PER_TOKEN = 4096;

/** Packs each step into one number: cost in the upper half, start of the next row in the lower half. */
function packSteps(costs: readonly number[]): Int32Array {
  const steps = new Int32Array(ROW_COUNT * ROW_STRIDE);
  for (let row = 0; row < ROW_COUNT; row++) {
    for (let symbol = 0; symbol < SYMBOL_COUNT; symbol++) {
      const step = stepOf(row, symbol);
      let tokens = 0;
      for (const cost of step.costs) tokens += costs[cost] ?? 0;
      const units = Math.min(0x7fff, Math.round(tokens * UNITS_PER_TOKEN));
      steps[row * ROW_STRIDE + symbol] = units * 0x10000 + step.nextRow * ROW_STRIDE;
    }
  }
  return steps;
}

function costsOf({ named, pairs }: TokenModel): readonly number[] {
  return [...named, ...Array.from(pairs, (digit) => PAIR_DIGITS.indexOf(digit) * PAIR_STEP_TOKENS)];
}
