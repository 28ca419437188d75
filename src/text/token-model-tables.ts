import {
  COST_COUNT,
  FIRST_CAPITAL_PAIR,
  FIRST_LETTER_PAIR,
  FIRST_MARK_PAIR,
  FIRST_PREFIX,
  NAMED_COSTS,
  ROW_COUNT,
  stepOf,
} from "./token-model-shape.ts";
import { SYMBOL_COUNT, symbolTable } from "./token-model-symbols.ts";

/** The fitted constants of the token model, in tokens. */
export interface TokenModel {
  readonly named: Readonly<Record<string, number>>;
  /** One line a first letter or mark, one character a second one: see `PAIR_DIGITS`. */
  readonly letterPairs: readonly string[];
  readonly capitalPairs: readonly string[];
  readonly markPairs: readonly string[];
  /** A lower-case word, then an upper-case word, behind each lone mark. */
  readonly prefixes: readonly string[];
  /** Ideographs that often share a token with their neighbour. */
  readonly commonHan: string;
  /** Between these multiples of the estimate lie 95 % of the held-out texts. */
  readonly intervals: Readonly<Record<"documented" | "calibrated", ErrorInterval>>;
}

export interface ErrorInterval {
  readonly low: number;
  readonly high: number;
}

/** What each character of a pair line stands for: its place times `PAIR_STEP_TOKENS`. */
export const PAIR_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
export const PAIR_STEP_TOKENS = 0.025;

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

/** Every step in one number: its cost in the upper half, where the next row begins in the lower. */
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

function costsOf(model: TokenModel): readonly number[] {
  const costs = new Array<number>(COST_COUNT).fill(0);
  for (const [index, name] of NAMED_COSTS.entries()) costs[index] = model.named[name] ?? 0;
  const read = (first: number, lines: readonly string[]): void => {
    for (const [index, digit] of [...lines.join("")].entries())
      costs[first + index] = PAIR_DIGITS.indexOf(digit) * PAIR_STEP_TOKENS;
  };
  read(FIRST_LETTER_PAIR, model.letterPairs);
  read(FIRST_CAPITAL_PAIR, model.capitalPairs);
  read(FIRST_MARK_PAIR, model.markPairs);
  read(FIRST_PREFIX, model.prefixes);
  return costs;
}
