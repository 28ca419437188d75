import { countTokens } from "gpt-tokenizer";
import { tokenFamilyOf } from "../../../src/models/token-family.ts";
import { familyCost } from "../../../src/text/tokens/estimate-tokens.ts";
import { asString } from "../../../src/text/unknown-value.ts";

/** How many tokens a request has, counted as a provider does: exactly, and over everything that is sent. */
export function countRequest(body: unknown): number {
  let tokens = 0;
  const visit = (value: unknown): void => {
    if (typeof value === "string") tokens += countText(value);
    else if (Array.isArray(value)) for (const item of value) visit(item);
    else if (typeof value === "object" && value !== null)
      for (const [key, item] of Object.entries(value)) {
        tokens += 1 + Math.ceil(key.length / 8);
        visit(item);
      }
  };
  const { messages, input, contents, system, systemInstruction, tools } = body as Record<string, unknown>;
  visit([system ?? systemInstruction, messages ?? input ?? contents, tools]);
  return tokens;
}

const counted = new Map<string, number>();

/** The same in the tokens of the model that is asked: some take more for the same text. */
export function countAsModel(body: { readonly model?: unknown }): number {
  const model = asString(body.model);
  return Math.ceil(
    countRequest(body) * familyCost(tokenFamilyOf(model === undefined ? model : { id: model })).scale,
  );
}

/** The same outputs are sent again and again, and counting is slow. */
function countText(text: string): number {
  const known = counted.get(text);
  if (known !== undefined) return known;
  const tokens = countTokens(text);
  counted.set(text, tokens);
  return tokens;
}
