import fc from "fast-check";
import { expect, it } from "vitest";
import { BUDGET_STEPS, budgetOfStep, parseBudget, stepOfBudget } from "./budget-steps.ts";

const limits = fc.tuple(fc.nat(100_000), fc.nat(5_000_000)).map(([min, room]) => ({ min, max: min + room }));

it("stays within the limits and reaches both ends", () => {
  fc.assert(
    fc.property(limits, fc.integer({ min: -5, max: BUDGET_STEPS + 5 }), (between, step) => {
      const budget = budgetOfStep(step, between);
      expect(budget).toBeGreaterThanOrEqual(between.min);
      expect(budget).toBeLessThanOrEqual(between.max);
      expect(budgetOfStep(0, between)).toBe(between.min);
      expect(budgetOfStep(BUDGET_STEPS, between)).toBe(between.max);
    }),
  );
});

it("never goes down when the slider goes up", () => {
  fc.assert(
    fc.property(limits, fc.integer({ min: 0, max: BUDGET_STEPS - 1 }), (between, step) => {
      expect(budgetOfStep(step, between)).toBeLessThanOrEqual(budgetOfStep(step + 1, between));
    }),
  );
});

it("puts the slider near a budget that it gave", () => {
  const between = { min: 512, max: 354_000 };
  for (let step = 0; step <= BUDGET_STEPS; step++) {
    expect(Math.abs(stepOfBudget(budgetOfStep(step, between), between) - step)).toBeLessThanOrEqual(1);
  }
});

it("has one place when there is nothing to choose", () => {
  expect(stepOfBudget(7, { min: 7, max: 7 })).toBe(0);
});

it.each([
  ["43210", 43_210],
  ["200k", 200_000],
  ["1.5 M", 1_500_000],
  ["43,210", 43_210],
  ["7", 512],
  ["9m", 2_000_000],
  ["", undefined],
  ["many", undefined],
])("takes %s as a budget of %s", (typed, budget) => {
  expect(parseBudget(typed, { min: 512, max: 2_000_000 })).toBe(budget);
});
