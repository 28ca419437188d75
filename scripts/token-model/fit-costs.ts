import {
  COST_COUNT,
  FIRST_CAPITAL_PAIR,
  FIRST_LETTER_PAIR,
  FIRST_MARK_PAIR,
  FIRST_PREFIX,
  MARK_COUNT,
  NAMED_COSTS,
  ROW_COUNT,
  SCRIPTS,
  SYMBOL_COUNT,
  stepOf,
  symbolTable,
} from "../../src/text/tokens/automaton.ts";

/** A piece of text whose tokens are known. */
export interface Observation {
  readonly text: string;
  readonly tokens: number;
  /** How much this piece counts against others. */
  readonly weight: number;
}

/**
 * The non-negative costs that come nearest to the observed tokens. Costs that few texts show stay near
 * those of their group: first one value a group is fitted, then each cost with its group as the prior.
 */
export function fitCosts(observations: readonly Observation[], commonHan: string): readonly number[] {
  const counts = createCostCounter(commonHan);
  const own = createSystem(COST_COUNT);
  const grouped = createSystem(COST_COUNT);
  for (const { text, tokens, weight } of observations) {
    const used = counts(text);
    own.add(used, tokens, weight);
    grouped.add(merged(used), tokens, weight);
  }
  const groups = grouped.solve(new Float64Array(COST_COUNT));
  const prior = Float64Array.from({ length: COST_COUNT }, (_, cost) => groups[groupOf(cost)] ?? 0);
  return [...own.solve(prior)];
}

type Counts = ReadonlyMap<number, number>;

/** How often a text uses each cost. */
function createCostCounter(commonHan: string): (text: string) => Counts {
  const symbols = symbolTable(commonHan);
  const steps = Array.from({ length: ROW_COUNT }, (_, row) =>
    Array.from({ length: SYMBOL_COUNT }, (_, symbol) => stepOf(row, symbol)),
  );
  return (text) => {
    const used = new Map<number, number>();
    let row = 0;
    for (let index = 0; index < text.length; index++) {
      const step = steps[row]?.[symbols[text.charCodeAt(index)] ?? 0];
      if (step === undefined) throw new Error(`no step from row ${row}; check stepOf`);
      for (const cost of step.costs) used.set(cost, (used.get(cost) ?? 0) + 1);
      row = step.nextRow;
    }
    return used;
  };
}

function merged(used: Counts): Counts {
  const byGroup = new Map<number, number>();
  for (const [cost, count] of used) byGroup.set(groupOf(cost), (byGroup.get(groupOf(cost)) ?? 0) + count);
  return byGroup;
}

/** The cost that stands for a whole group while groups are fitted. */
function groupOf(cost: number): number {
  if (cost >= FIRST_PREFIX) return FIRST_PREFIX + MARK_COUNT * Math.floor((cost - FIRST_PREFIX) / MARK_COUNT);
  if (cost >= FIRST_MARK_PAIR) {
    const pair = cost - FIRST_MARK_PAIR;
    const isRepeat = Math.floor(pair / MARK_COUNT) === pair % MARK_COUNT;
    return FIRST_MARK_PAIR + (isRepeat ? 0 : 1);
  }
  if (cost >= FIRST_CAPITAL_PAIR) return FIRST_CAPITAL_PAIR;
  if (cost >= FIRST_LETTER_PAIR) return FIRST_LETTER_PAIR;
  const intoScripts = cost - FIRST_SCRIPT_COST;
  return intoScripts < 0 ? cost : cost - (intoScripts % SCRIPTS.length);
}

const FIRST_SCRIPT_COST = NAMED_COSTS.indexOf(`bare-${SCRIPTS[0]}`);
const PRIOR_WEIGHT = 4;
const SWEEPS = 400;

/** Weighted least squares over non-negative unknowns, solved one unknown at a time. */
function createSystem(size: number) {
  const products = new Float64Array(size * size);
  const targets = new Float64Array(size);
  return {
    add(used: Counts, tokens: number, weight: number): void {
      for (const [row, count] of used) {
        targets[row] = (targets[row] ?? 0) + weight * count * tokens;
        for (const [column, other] of used) {
          const at = row * size + column;
          products[at] = (products[at] ?? 0) + weight * count * other;
        }
      }
    },
    solve(prior: Float64Array): Float64Array {
      const values = Float64Array.from(prior);
      for (let sweep = 0; sweep < SWEEPS; sweep++) {
        for (let row = 0; row < size; row++) {
          let rest = (targets[row] ?? 0) + PRIOR_WEIGHT * (prior[row] ?? 0);
          const from = row * size;
          for (let column = 0; column < size; column++)
            rest -= (products[from + column] ?? 0) * (values[column] ?? 0);
          const own = products[from + row] ?? 0;
          values[row] = Math.max(0, (rest + own * (values[row] ?? 0)) / (own + PRIOR_WEIGHT));
        }
      }
      return values;
    },
  };
}
