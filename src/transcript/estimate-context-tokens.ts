import { CHARS_PER_TOKEN, estimateInterval, roundTokens } from "../text/estimate-tokens.ts";
import { familyCost, type TokenFamily, tokenFamilyOf } from "../text/token-model-families.ts";
import type { ErrorInterval } from "../text/token-model-tables.ts";
import {
  estimateMessageTokens,
  estimateResultTokens,
  type MessageEstimateOptions,
} from "./estimate-message-tokens.ts";
import { usageTotalTokens, vouchesForContext } from "./estimate-usage.ts";
import type { Message, ModelRef, Transcript } from "./message.ts";
import { isVisibleToModel } from "./visibility.ts";

/**
 * About how many tokens the model would read if these messages were sent: the newest usage that still holds
 * plus an estimate of what came after it, or an estimate of everything.
 */
export function estimateContextTokens(
  transcript: Transcript,
  options: ContextEstimateOptions = {},
): ContextEstimate {
  const tally = createContextTally(options);
  for (const message of transcript) tally.add(message);
  return tally.estimate();
}

/** The same estimate kept up to date: adding a message costs no more than reading that message once. */
export function createContextTally(options: ContextEstimateOptions = {}): ContextTally {
  const estimating = withFamily(options);
  let count = 0;
  let heuristicTokens = 0;
  let newestClearedAt = Number.NEGATIVE_INFINITY;
  let usage: KnownUsage | undefined;
  let trailingTokens = 0;

  return {
    add(message) {
      const index = count++;
      if (!isVisibleToModel(message)) return;
      const tokens = estimateMessageTokens(message, estimating);
      heuristicTokens += tokens;
      trailingTokens += tokens;
      // A summary stands for what it replaced, and another model counts otherwise: older usage is void.
      if (isCompletedSummary(message) || differs(usage?.model, message.model)) usage = undefined;
      const inEpoch = index >= (options.epochStartIndex ?? 0);
      if (inEpoch && vouchesForContext(message) && !clearedSince(newestClearedAt, message)) {
        usage = { index, tokens: usageTotalTokens(message.usage), model: message.model };
        // The model had not seen the results of its own calls when this was counted.
        trailingTokens = estimateResultTokens(message, estimating);
      }
      newestClearedAt = Math.max(newestClearedAt, clearedAtOf(message));
    },
    estimate() {
      const known = usage !== undefined && !differs(usage.model, options.model) ? usage : undefined;
      const interval = intervalOf(estimating);
      if (known === undefined) {
        const tokens = heuristicTokens + fixedTokens(estimating);
        return {
          tokens,
          low: Math.floor(tokens * interval.low),
          high: Math.ceil(tokens * interval.high),
          source: "heuristic",
          usageTokens: 0,
          trailingTokens: tokens,
          lastUsageIndex: -1,
        };
      }
      return {
        tokens: known.tokens + trailingTokens,
        low: known.tokens + Math.floor(trailingTokens * interval.low),
        high: known.tokens + Math.ceil(trailingTokens * interval.high),
        source: "usage",
        usageTokens: known.tokens,
        trailingTokens,
        lastUsageIndex: known.index,
      };
    },
  };
}

export interface ContextTally {
  /** Takes the next message of the transcript. */
  add(message: Message): void;
  /** The estimate over all messages added so far. */
  estimate(): ContextEstimate;
}

export interface ContextEstimate {
  readonly tokens: number;
  /** The exact count lies between `low` and `high` for 95 of 100 texts of the kinds that were measured. */
  readonly low: number;
  readonly high: number;
  readonly source: "usage" | "heuristic";
  /** What the provider counted; 0 when nothing it counted still holds. */
  readonly usageTokens: number;
  /** What was estimated on top of it. */
  readonly trailingTokens: number;
  /** Which message the usage is from; -1 when there is none. */
  readonly lastUsageIndex: number;
}

export interface ContextEstimateOptions extends MessageEstimateOptions {
  /** The model that is asked next: usage of another one does not count, and its name tells the family. */
  readonly model?: ModelRef;
  /**
   * How many messages there were when the context last changed (compaction, pruning, archiving): the usage of
   * those describes a context that no longer exists.
   */
  readonly epochStartIndex?: number;
  /** Characters of the system prompt; usage has them already. */
  readonly systemChars?: number;
  /** Characters of the tool definitions; usage has them already. */
  readonly toolsChars?: number;
  /** How far off an estimator function of your own is; the built-in ones know. */
  readonly interval?: ErrorInterval;
}

interface KnownUsage {
  readonly index: number;
  readonly tokens: number;
  readonly model: ModelRef | undefined;
}

type Estimating = ContextEstimateOptions & { readonly family: TokenFamily };

function withFamily(options: ContextEstimateOptions): Estimating {
  const { family, model } = options;
  return { ...options, family: family ?? (model === undefined ? "gpt" : tokenFamilyOf(model.id)) };
}

function fixedTokens({ systemChars = 0, toolsChars = 0, ...options }: Estimating): number {
  const chars = Math.max(0, systemChars) + Math.max(0, toolsChars);
  return roundTokens((chars / CHARS_PER_TOKEN) * scaleOf(options), "ceil");
}

function scaleOf({ estimator, family, calibration }: Estimating): number {
  return calibration?.scale ?? (estimator === "calibrated" ? familyCost(family).scale : 1);
}

function intervalOf({ estimator = "documented", family, calibration, interval }: Estimating): ErrorInterval {
  const known = interval ?? estimateInterval(estimator);
  if (estimator !== "calibrated") return known;
  const margin = Math.min(0.5, calibration?.spread ?? familyCost(family).scaleMargin);
  return { low: known.low * (1 - margin), high: known.high * (1 + margin) };
}

function isCompletedSummary({ summary, error }: Message): boolean {
  return summary === true && error === undefined;
}

function differs(one: ModelRef | undefined, other: ModelRef | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.id !== other.id || one.provider !== other.provider;
}

function clearedSince(clearedAt: number, { createdAt }: Message): boolean {
  return createdAt !== undefined && clearedAt > createdAt;
}

function clearedAtOf({ parts }: Message): number {
  let newest = Number.NEGATIVE_INFINITY;
  for (const part of parts) if (part.type === "tool") newest = Math.max(newest, part.clearedAt ?? newest);
  return newest;
}
