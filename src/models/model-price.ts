import { omitUndefined } from "../text/unknown-value.ts";
import { type ModelLookup, modelFacts } from "./model-facts.ts";
import type { ModelRef } from "./model-ref.ts";
import type { DatedPrices, LongPrompts } from "./model-row.ts";

/** What a model costs in US dollars for a million tokens, and who says so. */
export interface ModelPrice extends DatedPrices {
  readonly longPrompts?: LongPrompts;
  readonly source?: string;
  readonly readOn?: string;
}

/** The price of a model; undefined where the table has none for that very model. */
export function priceOf(model: Partial<ModelRef>, lookup: ModelLookup = {}): ModelPrice | undefined {
  const { prices, longPrompts, source, readOn } = modelFacts(model, lookup);
  return prices && { ...prices, ...omitUndefined({ longPrompts, source, readOn }) };
}

/**
 * The price of writing a token to the cache for this lifetime, or for the usual one; the price of input when unknown.
 */
export function writePrice({ input, cacheWrite = {} }: DatedPrices, life?: string): number {
  const usual = Object.values(cacheWrite)[0] ?? input;
  return life === undefined ? usual : (cacheWrite[life] ?? usual);
}
