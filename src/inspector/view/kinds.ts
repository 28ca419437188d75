import type { ItemRow, KindTokens, MessageRow, ShownSize } from "./types.ts";

/** The kinds of what fills a window, from the bottom up. */
export const KINDS: readonly (keyof KindTokens)[] = [
  "system",
  "summary",
  "user",
  "agent",
  "reasoning",
  "tool input",
  "tool output",
  "other",
];

/** No tokens of any kind. */
export function noKinds(): Record<keyof KindTokens, number> {
  return {
    system: 0,
    summary: 0,
    user: 0,
    agent: 0,
    reasoning: 0,
    "tool input": 0,
    "tool output": 0,
    other: 0,
  };
}

/** The kind under which an item is counted. */
export function kindOf({ kind }: Pick<ItemRow, "kind">): keyof KindTokens {
  return kind === "media" || kind === "marker" || kind === "unknown" ? "other" : kind;
}

/** Sums what is left of rows by kind. */
export function sumKinds(rows: readonly MessageRow[]): Record<keyof KindTokens, number> {
  const kinds = noKinds();
  for (const { items } of rows) for (const item of items) kinds[kindOf(item)] += item.keptTokens;
  return kinds;
}

/** Factor that scales estimates to at most the counted size. */
export function scaleOf(estimatedTokens: number, countedTokens: number): number {
  return estimatedTokens === 0
    ? 1
    : Math.max(LEAST_SCALE, Math.min(MOST_SCALE, countedTokens / estimatedTokens));
}

/** The largest factor: what remains beyond it was not recorded. */
const MOST_SCALE = 1.15;

/** Not zero, because it is a divisor; used when the provider counted nothing beyond system prompt and tools. */
const LEAST_SCALE = 1e-6;

/** Scales the kinds of a window, and adds what is outside its messages. */
export function scaleKinds(
  estimated: KindTokens,
  { scale, outsideTokens, systemTokens }: KindScale,
): KindTokens {
  const kinds = noKinds();
  for (const kind of KINDS) kinds[kind] = estimated[kind] * scale;
  const system = Math.min(systemTokens, outsideTokens);
  kinds.system += system;
  kinds.other += Math.max(0, outsideTokens - system);
  return kinds;
}

interface KindScale extends Pick<ShownSize, "scale" | "outsideTokens"> {
  readonly systemTokens: number;
}

export function totalOf(kinds: KindTokens): number {
  let tokens = 0;
  for (const kind of KINDS) tokens += kinds[kind];
  return tokens;
}
