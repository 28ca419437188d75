import { type TokenFamily, tokenFamily } from "../text/tokens/estimate-tokens.ts";
import { type ModelLookup, modelFacts } from "./model-facts.ts";
import type { ModelRef } from "./model-ref.ts";

/** Whose tokens a model counts; where no model is named, o200k's. */
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

/** Each message of a conversation asks. */
const known = new Map<string, TokenFamily>();
const MAX_KNOWN = 1_000;
