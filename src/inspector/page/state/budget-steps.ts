import type { PolicyBudget } from "../../view/types.ts";

/** How many steps a budget's slider has. */
export const BUDGET_STEPS = 120;

/** The step nearest to a budget, on a logarithmic scale. */
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

/** A budget as people type it, such as `43210`, `200k` or `1.5 M`, within its limits; undefined for any other text. */
export function parseBudget(typed: string, { min, max }: Limits): number | undefined {
  const [, digits = "", unit = ""] = /^\s*([\d.,_]+)\s*([km]?)\s*$/i.exec(typed) ?? [];
  const value = Number(digits.replace(/[,_]/g, "") || Number.NaN) * (UNITS[unit.toLowerCase()] ?? 1);
  return Number.isFinite(value) ? Math.min(max, Math.max(min, Math.round(value))) : undefined;
}

const UNITS: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };

type Limits = Pick<PolicyBudget, "min" | "max">;
