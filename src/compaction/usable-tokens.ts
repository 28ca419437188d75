import {
  DEFAULT_OVERFLOW_SETTINGS,
  OUTPUT_TOKEN_MAX,
  type OverflowSettings,
  RESERVED_TOKENS,
} from "./overflow-settings.ts";

/** How many tokens of the window a conversation may fill before it overflows; never below 0. */
export function usableTokens(limits: ModelLimits, settings: Partial<OverflowSettings> = {}): number {
  const { profile, outputCapTokens, reservedTokens } = { ...DEFAULT_OVERFLOW_SETTINGS, ...settings };
  const reserveTokens = outputReserve(limits, outputCapTokens);
  const inputTokens = positive(limits.inputTokens);
  const windowTokens = positive(limits.contextTokens) - reserveTokens;
  if (inputTokens === 0) return Math.max(0, windowTokens);
  if (profile === "seed") return inputTokens;
  return Math.max(0, inputTokens - (nonNegative(reservedTokens) ?? Math.min(RESERVED_TOKENS, reserveTokens)));
}

/** What a model accepts and writes. 0 or less means unknown. */
export interface ModelLimits {
  readonly contextTokens: number;
  readonly outputTokens: number;
  /** Set by models whose input has a limit of its own. */
  readonly inputTokens?: number;
}

function outputReserve({ outputTokens }: ModelLimits, outputCapTokens: number): number {
  const capTokens = positive(outputCapTokens) || OUTPUT_TOKEN_MAX;
  return Math.min(positive(outputTokens), capTokens) || capTokens;
}

function positive(tokens: number | undefined): number {
  return tokens !== undefined && tokens > 0 ? tokens : 0;
}

function nonNegative(tokens: number | undefined): number | undefined {
  return tokens !== undefined && tokens >= 0 ? tokens : undefined;
}
