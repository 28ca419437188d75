import { asObject } from "../text/unknown-value.ts";

/** What refusals and answers have shown of one model's window. */
export interface LearnedWindow {
  /** `provider/model`; empty while the model is unknown. */
  readonly model: string;
  readonly windowTokens: number;
  /**
   * `named` by a refusal; `assumed` to be smaller than what was refused; `accepted`: larger than was known, since the
   * provider took more.
   */
  readonly figure: "named" | "assumed" | "accepted";
  /** How many tokens the provider counts for one of our estimate. */
  readonly countingFactor: number;
}

/** Learned windows as they were stored; what cannot be read is left out. */
export function readWindows(stored: unknown): readonly LearnedWindow[] {
  const windows = new Map<string, LearnedWindow>();
  for (const value of Array.isArray(stored) ? stored : []) {
    const { model, windowTokens, figure, countingFactor } = asObject(value);
    const isUsable =
      typeof model === "string" &&
      typeof windowTokens === "number" &&
      windowTokens >= MIN_WINDOW_TOKENS &&
      (figure === "named" || figure === "assumed" || figure === "accepted") &&
      typeof countingFactor === "number" &&
      countingFactor >= 1;
    if (isUsable && !windows.has(model))
      windows.set(model, {
        model,
        windowTokens,
        figure,
        countingFactor: Math.min(MAX_FACTOR, countingFactor),
      });
  }
  return [...windows.values()];
}

/** No model takes less. Servers have named windows of 3 tokens; such a figure counts as none. */
export const MIN_WINDOW_TOKENS = 1_000;
/** A larger difference is no difference in counting. */
export const MAX_FACTOR = 4;
