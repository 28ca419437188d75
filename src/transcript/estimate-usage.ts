import { familyCost, type TokenFamily } from "../text/token-model-families.ts";
import { messageSizes } from "./estimate-message-tokens.ts";
import type { Message, Transcript, Usage } from "./message.ts";
import type { TokenObservation } from "./token-calibration.ts";
import { isVisibleToModel } from "./visibility.ts";

/** All tokens of a call: the provider's total if it gives one, else the sum of its fields. 0 when unknown. */
export function usageTotalTokens(usage: Usage | undefined): number {
  if (usage === undefined) return 0;
  const total = counted(usage.totalTokens);
  return total > 0 ? total : promptTokens(usage) + counted(usage.outputTokens);
}

/** True when a message's usage tells how large the context was: a completed answer, not a summary of another context. */
export function vouchesForContext(message: Message): boolean {
  if (message.role !== "assistant" || message.summary === true || message.error !== undefined) return false;
  if (message.finish !== undefined && BROKEN.has(message.finish.toLowerCase())) return false;
  return isVisibleToModel(message) && usageTotalTokens(message.usage) > 0;
}

const BROKEN: ReadonlySet<string> = new Set(["error", "aborted", "abort", "cancelled", "canceled"]);

/**
 * What the two newest usages say about the text between them: its tokens by the provider, and by our unscaled
 * estimate. Undefined where the text between cannot be told apart from reasoning, media or a changed context.
 */
export function observeUsage(
  transcript: Transcript,
  { epoch, epochStartIndex = 0, family = "gpt" }: ObserveUsageOptions,
): TokenObservation | undefined {
  const newerIndex = transcript.findLastIndex(vouchesForContext);
  const olderIndex = transcript.findLastIndex(
    (message, index) => index < newerIndex && vouchesForContext(message),
  );
  const [older, newer] = [transcript[olderIndex], transcript[newerIndex]];
  if (older?.usage === undefined || newer?.usage === undefined || olderIndex < epochStartIndex)
    return undefined;
  const model = newer.model?.id;
  if (model === undefined || model !== older.model?.id) return undefined;

  const between = transcript.slice(olderIndex, newerIndex).filter(isVisibleToModel);
  if (between.some(isUnclear)) return undefined;
  let estimatedTokens = 0;
  let calls = 0;
  for (const message of between) {
    const sizes = messageSizes(message, "calibrated");
    estimatedTokens += sizes.writtenTokens + sizes.resultTokens;
    calls += sizes.calls;
  }
  const grownTokens = promptTokens(newer.usage) - promptTokens(older.usage);
  const usageTokens = grownTokens - calls * familyCost(family).callTokens;
  return { model, epoch, estimatedTokens, usageTokens };
}

export interface ObserveUsageOptions {
  readonly epoch: number;
  /** How many messages there were when the context last changed. */
  readonly epochStartIndex?: number;
  readonly family?: TokenFamily;
}

/** Reasoning may be dropped by the provider, media are priced by size, a summary changes what came before. */
function isUnclear(message: Message): boolean {
  const { writtenMedia, resultMedia } = messageSizes(message, "calibrated");
  if (message.summary === true || writtenMedia + resultMedia > 0) return true;
  return message.parts.some((part) => part.type === "reasoning" && part.agentVisible !== false);
}

function promptTokens({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return counted(inputTokens) + counted(cacheReadTokens) + counted(cacheWriteTokens);
}

function counted(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) ? Math.max(0, tokens) : 0;
}
