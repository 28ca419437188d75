import { type TokenFamily, tokenFamily } from "../text/tokens/estimate-tokens.ts";
import { type ModelLookup, modelFacts } from "./model-facts.ts";
import type { ModelRef } from "./model-ref.ts";

/** The token family of a model; `gpt` (o200k) without a model. */
export function tokenFamilyOf(
  model: Partial<ModelRef> | undefined,
  { rows }: Pick<ModelLookup, "rows"> = {},
): TokenFamily {
  if (model === undefined) return "gpt";
  if (rows !== undefined) return tokenFamily(modelFacts(model, { rows }).tokenizer);
  const key = `${model.provider ?? ""}/${model.id ?? ""}`;
  const family = known.get(key) ?? tokenFamily(modelFacts(model).tokenizer);
  if (known.size < MAX_KNOWN) known.set(key, family);
  return family;
}

/** Cached: estimates ask for every message. */
const known = new Map<string, TokenFamily>();
const MAX_KNOWN = 1_000;
