/** How the tokens of a model family relate to o200k's, which the calibrated estimate follows. */
export interface TokenFamilyCost {
  /** Tokens of the family for one token of o200k. */
  readonly scale: number;
  /** Tokens around a tool call beyond its name, input and output. */
  readonly callTokens: number;
  /** How far the scale may be off, as a share of it. */
  readonly scaleMargin: number;
}

export type TokenFamily = "gpt" | "claude" | "gemini" | "other";

// Where each figure comes from: docs/decisions/0003-token-estimate.md. Only Claude's were measured.
const FAMILIES: Readonly<Record<TokenFamily, TokenFamilyCost>> = {
  gpt: { scale: 1, callTokens: 12, scaleMargin: 0 },
  claude: { scale: 1.13, callTokens: 95, scaleMargin: 0.1 },
  gemini: { scale: 1.1, callTokens: 40, scaleMargin: 0.15 },
  other: { scale: 1.1, callTokens: 40, scaleMargin: 0.15 },
};

/** The costs of a family. */
export function familyCost(family: TokenFamily): TokenFamilyCost {
  return FAMILIES[family];
}

/** The family that a model's name belongs to; `other` for names we do not know. */
export function tokenFamilyOf(modelName: string): TokenFamily {
  const name = modelName.toLowerCase();
  if (/claude|anthropic|opus|sonnet|haiku/.test(name)) return "claude";
  if (/gemini|gemma/.test(name)) return "gemini";
  if (/gpt|codex|(^|[^a-z0-9])o[1-9]([^a-z0-9]|$)/.test(name)) return "gpt";
  return "other";
}
