import { expect, it } from "vitest";
import type { PromptStep } from "../measures/measure-prompts.ts";
import { summarizePrompts, tokenError } from "./summarize-tokens.ts";

const step = (model: string, estimatedTokens: number, isComparable = true): PromptStep => ({
  model,
  estimatedTokens,
  promptTokens: 1000,
  unscaledTokens: 0,
  calls: 0,
  isComparable,
});

it("tells the errors of each model, the most used first, without requests that cannot be compared", () => {
  const [one, other, ...more] = summarizePrompts([
    { prompts: [step("few", 1000), step("many", 900), step("many", 1300)] },
    { prompts: [step("many", 1100), step("many", 5000, false)] },
  ]);
  expect(more).toEqual([]);
  expect(one).toMatchObject({ model: "many", requests: 3, leftOut: 1 });
  expect(one?.median).toBeCloseTo(0.1, 9);
  expect(one?.bias).toBeCloseTo(0.1, 9);
  expect(other).toEqual({ model: "few", requests: 1, leftOut: 0, median: 0, p90: 0, bias: 0 });
});

it("weighs the bias by tokens, so that errors of large and small estimates do not cancel out", () => {
  expect(
    tokenError(
      [
        [100, 200],
        [1000, 900],
      ].map(([one = 0, other = 0]) => [one, other]),
    ).bias,
  ).toBe(0);
  expect(tokenError([[500, 1000]]).bias).toBe(-0.5);
});
