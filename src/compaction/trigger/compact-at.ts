import { type Rule, rule } from "../../text/check.ts";
import { isObject, omitUndefined } from "../../text/unknown-value.ts";
import type { ModelRef } from "../../transcript/message.ts";

/** Where a window is compacted before it is full: at a fraction of the model's window, or at a number of tokens. */
export type CompactAt = { readonly fraction: number } | { readonly tokens: number };

/**
 * The number of tokens at which a window is compacted early; Infinity where nobody asked for it, or for a fraction of an
 * unknown window. System prompt and tools are counted too, but where they alone would fill it, the conversation still
 * gets some room.
 */
export function compactAtTokens({ compactAt, contextWindowTokens, overheadTokens = 0 }: EarlyWindow): number {
  if (compactAt === undefined) return Number.POSITIVE_INFINITY;
  const asked =
    "tokens" in compactAt ? compactAt.tokens : Math.floor(contextWindowTokens * compactAt.fraction);
  return asked > 0 ? Math.max(asked, overheadTokens + MIN_CONVERSATION_TOKENS) : Number.POSITIVE_INFINITY;
}

interface EarlyWindow {
  readonly compactAt?: CompactAt;
  /** 0 when unknown. */
  readonly contextWindowTokens: number;
  readonly overheadTokens?: number;
}

/** What a conversation is left beside system prompt and tools, however early it is compacted. */
const MIN_CONVERSATION_TOKENS = 1_000;

/** What `compactAt` may be. */
export const COMPACT_AT_RULE: Rule = rule(
  "{ fraction } above 0 and up to 1, or { tokens } of 1000 or more",
  (value) => {
    const [name, amount] = onlyEntry(isObject(value) ? omitUndefined(value) : value);
    if (name === "tokens") return Number.isSafeInteger(amount) && amount >= MIN_CONVERSATION_TOKENS;
    return name === "fraction" && amount > 0 && amount <= 1;
  },
);

/** A limit in tokens, or in percent of the model's window, that takes the place of the usual one. */
export type Threshold = { readonly tokens: number } | { readonly percent: number };

/** The threshold of a model by `provider/model`, in tokens; undefined where it has none. */
export function thresholdTokens(
  thresholds: Readonly<Record<string, Threshold>> = {},
  model: ModelRef | undefined,
  windowTokens: number,
): number | undefined {
  const key = model === undefined ? "" : `${model.provider}/${model.id}`;
  const threshold = Object.hasOwn(thresholds, key) ? thresholds[key] : undefined;
  if (threshold === undefined) return undefined;
  const tokens =
    "tokens" in threshold ? threshold.tokens : Math.floor((windowTokens * threshold.percent) / 100);
  return tokens > 0 ? tokens : undefined;
}

/** What a threshold may be. */
export const THRESHOLD_RULE: Rule = rule(
  "{ tokens } above 0, or { percent } above 0 and up to 100",
  (value) => {
    const [name, amount] = onlyEntry(value);
    if (name === "tokens") return Number.isSafeInteger(amount) && amount > 0;
    return name === "percent" && amount > 0 && amount <= 100;
  },
);

/** The name and the number of an object that has just one. */
function onlyEntry(value: unknown): readonly [name: string, amount: number] {
  const [entry, ...others] = isObject(value) ? Object.entries(value) : [];
  return entry !== undefined && others.length === 0 && typeof entry[1] === "number"
    ? [entry[0], entry[1]]
    : ["", Number.NaN];
}
