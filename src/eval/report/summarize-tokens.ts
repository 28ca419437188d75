import { groupBy } from "../../text/group-by.ts";
import type { SessionMeasure } from "../measure-session.ts";
import { quantileOf } from "./bootstrap.ts";

/** How far estimates of single steps are from the provider's counts. */
export interface TokenFigures {
  readonly model: string;
  readonly steps: number;
  readonly calibrated: TokenError;
  readonly documented: TokenError;
}

/** How far estimates of whole prompts without usage are from the provider's counts. */
export interface PromptFigures extends TokenError {
  readonly model: string;
  readonly requests: number;
  /** Requests that were not judged, since the host sent less than the file shows. */
  readonly leftOut: number;
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
    calibrated: tokenError(
      ofModel.map(({ calibratedTokens, usageTokens }) => [calibratedTokens, usageTokens]),
    ),
    documented: tokenError(
      ofModel.map(({ documentedTokens, usageTokens }) => [documentedTokens, usageTokens]),
    ),
  }));
}

/** Errors by model, the most used first. */
export function summarizePrompts(
  measures: readonly Pick<SessionMeasure, "prompts">[],
): readonly PromptFigures[] {
  const steps = measures.flatMap(({ prompts }) => prompts);
  return [...groupBy(steps, ({ model }) => model)]
    .map(([model, ofModel]) => {
      const judged = ofModel.filter(({ isComparable }) => isComparable);
      const error = tokenError(
        judged.map(({ estimatedTokens, promptTokens }) => [estimatedTokens, promptTokens]),
      );
      return { model, requests: judged.length, leftOut: ofModel.length - judged.length, ...error };
    })
    .sort((one, other) => other.requests - one.requests);
}

interface TokenError {
  readonly median: number;
  readonly p90: number;
  /** Of all estimates together; below 0 they are too low. */
  readonly bias: number;
}

/** The errors of estimates, each beside what the provider counted. */
export function tokenError(
  estimates: readonly (readonly [estimated: number, counted: number])[],
): TokenError {
  const errors = estimates.map(([estimated, counted]) => Math.abs(estimated / counted - 1));
  const [estimated, counted] = [0, 1].map((at) => estimates.reduce((sum, pair) => sum + (pair[at] ?? 0), 0));
  return {
    median: quantileOf(errors, 0.5),
    p90: quantileOf(errors, 0.9),
    bias: (estimated ?? 0) / (counted ?? 0) - 1,
  };
}
