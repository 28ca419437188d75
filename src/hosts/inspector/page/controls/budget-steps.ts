import type { PolicyBudget } from "../../view/types.ts";

/** How many steps a budget's slider has. */
export const BUDGET_STEPS = 120;

/** The step that is nearest to a budget: equal steps multiply it equally. */
export function stepOfBudget(value: number, { min, max }: Limits): number {
  const low = Math.max(1, min);
  if (max <= low) return 0;
  const share = Math.log(Math.min(max, Math.max(low, value)) / low) / Math.log(max / low);
  return Math.round(BUDGET_STEPS * share);
}

/** The budget at a step, rounded to two digits except at the ends. */
export function budgetOfStep(step: number, { min, max }: Limits): number {
  if (step <= 0) return min;
  if (step >= BUDGET_STEPS) return max;
  const low = Math.max(1, min);
  const exact = low * (max / low) ** (step / BUDGET_STEPS);
  const grain = 10 ** Math.max(0, Math.floor(Math.log10(exact)) - 1);
  return Math.min(max, Math.max(min, Math.round(exact / grain) * grain));
}

type Limits = Pick<PolicyBudget, "min" | "max">;
