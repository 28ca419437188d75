import { tokenFamilyOf } from "../models/token-family.ts";
import {
  aNumber,
  limitFrom,
  numberFrom,
  objectOf,
  optionsCheck,
  required,
  type Shape,
} from "../text/check.ts";
import type { ErrorInterval } from "../text/tokens/automaton.ts";
import {
  CHARS_PER_TOKEN,
  estimateInterval,
  familyCost,
  roundTokens,
  type TokenFamily,
} from "../text/tokens/estimate-tokens.ts";
import {
  estimateResultTokens,
  estimateThoughtTokens,
  MESSAGE_ESTIMATE_SHAPE,
  type MessageEstimateOptions,
  messageSizes,
  messageTokens,
  scaleOf,
  type TokenObservation,
} from "./estimate-message.ts";
import {
  isVisibleToModel,
  type Message,
  MODEL_RULE,
  type ModelRef,
  type Transcript,
  type Usage,
} from "./message.ts";

/**
 * About how many tokens the model would read if these messages were sent: the newest usage that still holds
 * plus an estimate of what came after it, or an estimate of everything.
 */
export function estimateContextTokens(
  transcript: Transcript,
  options: ContextEstimateOptions = {},
): ContextEstimate {
  checkOptions(options);
  return estimateContext(transcript, options);
}

/** The same without a check of the options. */
export function estimateContext(transcript: Transcript, options: ContextEstimateOptions): ContextEstimate {
  const sums = sumContext(transcript, options);
  const usageIndex = newestUsageIndex(transcript, options);
  const usageTokens = usageTotalTokens(transcript[usageIndex]?.usage);
  return estimateBehind({ transcript, sums, usageIndex, usageTokens }, options);
}

/** The estimate when it is already known which usage holds. */
export function estimateBehind(
  { transcript, sums, usageIndex, usageTokens }: CountedContext,
  options: ContextEstimateOptions,
): ContextEstimate {
  const estimating = withFamily(options);
  const counted = transcript[usageIndex];
  const { tokens, leftOutTokens } = sums[transcript.length] ?? NO_SUMS;
  // The model had not seen the results of its own calls when its usage was counted.
  const estimated =
    counted === undefined
      ? tokens - leftOutTokens + fixedTokens(estimating)
      : tokens - (sums[usageIndex + 1] ?? NO_SUMS).tokens + estimateResultTokens(counted, estimating);
  const { low, high } = intervalOf(estimating);
  return {
    tokens: usageTokens + estimated,
    low: usageTokens + Math.floor(estimated * low),
    high: usageTokens + Math.ceil(estimated * high),
    source: counted === undefined ? "heuristic" : "usage",
    usageTokens,
    trailingTokens: estimated,
    lastUsageIndex: usageIndex,
  };
}

interface CountedContext {
  readonly transcript: Transcript;
  /** The result of `sumContext`. */
  readonly sums: readonly ContextSums[];
  /** The message whose usage holds; -1 when none does. */
  readonly usageIndex: number;
  /** What that usage counts; 0 when none does. */
  readonly usageTokens: number;
}

/** The newest message whose usage describes the context as it is now; -1 when there is none. */
function newestUsageIndex(
  transcript: Transcript,
  { epochStartIndex = 0, model }: Pick<ContextEstimateOptions, "epochStartIndex" | "model">,
): number {
  if (epochStartIndex >= transcript.length) return -1;
  const clearings: number[] = [];
  let clearedAt = Number.NEGATIVE_INFINITY;
  for (const message of transcript) {
    clearings.push(clearedAt);
    if (isVisibleToModel(message)) clearedAt = Math.max(clearedAt, clearedAtOf(message));
  }
  const holds = ({ createdAt = Number.POSITIVE_INFINITY }: Message, at: number): boolean =>
    (clearings[at] as number) <= createdAt;
  const index = transcript.findLastIndex(
    (message, at) => at >= epochStartIndex && reportsContextUsage(message) && holds(message, at),
  );
  const counted = transcript[index]?.model;
  // A summary replaces what came before it, and another model counts differently: older usage no longer holds.
  const overtakes = (message: Message): boolean =>
    isVisibleToModel(message) && (isCompletedSummary(message) || isOtherModel(counted, message.model));
  return isOtherModel(counted, model) || transcript.slice(index + 1).some(overtakes) ? -1 : index;
}

/** What the messages up to a place of a transcript add up to. */
export interface ContextSums {
  /** Estimated tokens. */
  readonly tokens: number;
  /** Of these, thoughts of earlier turns that the model no longer reads. */
  readonly leftOutTokens: number;
  /** Tokens of the thoughts since the user's last message. */
  readonly turnThoughtTokens: number;
  /** Tokens of system messages. */
  readonly systemTokens: number;
}

const NO_SUMS: ContextSums = { tokens: 0, leftOutTokens: 0, turnThoughtTokens: 0, systemTokens: 0 };

/** Running sums over a transcript: entry `n` is for its first `n` messages. Each message is measured once. */
export function sumContext(transcript: Transcript, options: ContextEstimateOptions): readonly ContextSums[] {
  const estimating = withFamily(options);
  const dropsEarlier = dropsThoughts(estimating);
  const sums: ContextSums[] = [NO_SUMS];
  let sum = NO_SUMS;
  for (const message of transcript) {
    if (isVisibleToModel(message)) {
      const tokens = messageTokens(message, estimating);
      const startsTurn = dropsEarlier && message.role === "user";
      sum = {
        tokens: sum.tokens + tokens,
        leftOutTokens: sum.leftOutTokens + (startsTurn ? sum.turnThoughtTokens : 0),
        turnThoughtTokens:
          (startsTurn ? 0 : sum.turnThoughtTokens) +
          (dropsEarlier && message.role === "assistant" ? estimateThoughtTokens(message, estimating) : 0),
        systemTokens: sum.systemTokens + (message.role === "system" ? tokens : 0),
      };
    }
    sums.push(sum);
  }
  return sums;
}

/** True where the model does not read the thoughts of earlier turns; the documented estimate counts all that is there. */
function dropsThoughts({ estimator, family }: Estimating): boolean {
  return estimator === "calibrated" && familyCost(family).thoughts === "last-turn";
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

/** How the tokens of a context are counted. */
export interface ContextEstimateOptions extends MessageEstimateOptions {
  /** The model that is asked next: usage of another one does not count, and its name tells the family. @default unset */
  readonly model?: ModelRef;
  /**
   * How many messages there were when the context last changed (compaction, pruning, archiving): the usage of
   * those describes a context that no longer exists.
   * @default 0
   */
  readonly epochStartIndex?: number;
  /** Characters of the system prompt; usage has them already. @default 0 */
  readonly systemChars?: number;
  /** Characters of the tool definitions; usage has them already. @default 0 */
  readonly toolsChars?: number;
  /** How far off an estimator function of your own is; the built-in ones know. @default measured */
  readonly interval?: ErrorInterval;
}

/** What the options of `estimateContextTokens` may be. */
const CONTEXT_ESTIMATE_SHAPE: Shape<ContextEstimateOptions> = {
  ...MESSAGE_ESTIMATE_SHAPE,
  model: MODEL_RULE,
  epochStartIndex: limitFrom(0),
  systemChars: aNumber,
  toolsChars: aNumber,
  interval: objectOf({ low: required(numberFrom(0)), high: required(numberFrom(0)) }),
};

const checkOptions = optionsCheck(CONTEXT_ESTIMATE_SHAPE);

type Estimating = ContextEstimateOptions & { readonly family: TokenFamily };

function withFamily(options: ContextEstimateOptions): Estimating {
  const { family, model } = options;
  return { ...options, family: family ?? tokenFamilyOf(model) };
}

/** Tokens of the system prompt and the tools. */
export function fixedTokens({ systemChars = 0, toolsChars = 0, ...options }: ContextEstimateOptions): number {
  const chars = Math.max(0, systemChars) + Math.max(0, toolsChars);
  return roundTokens((chars / CHARS_PER_TOKEN) * scaleOf(withFamily(options)), "ceil");
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

export function isOtherModel(one: ModelRef | undefined, other: ModelRef | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.id !== other.id || one.provider !== other.provider;
}

/** When the newest of a message's outputs was cleared. */
export function clearedAtOf({ parts }: Message): number {
  let newest = Number.NEGATIVE_INFINITY;
  for (const part of parts) if (part.type === "tool") newest = Math.max(newest, part.clearedAt ?? newest);
  return newest;
}

/** All tokens of a call: the provider's total if it gives one, else the sum of its fields. 0 when unknown. */
export function usageTotalTokens(usage: Usage | undefined): number {
  if (usage === undefined) return 0;
  const total = atLeastZero(usage.totalTokens);
  return total > 0 ? total : promptTokens(usage) + atLeastZero(usage.outputTokens);
}

/** True when a message has a usage that counts this context: a completed answer that is not a summary. */
export function reportsContextUsage(message: Message): boolean {
  return carriesUsage(message) && usageTotalTokens(message.usage) > 0;
}

/** The same, except that the usage may be empty. */
export function carriesUsage(message: Message): boolean {
  if (message.usage === undefined || message.role !== "assistant") return false;
  if (message.summary === true || message.error !== undefined) return false;
  if (message.finish !== undefined && FAILED_FINISHES.has(message.finish.toLowerCase())) return false;
  return isVisibleToModel(message);
}

const FAILED_FINISHES: ReadonlySet<string> = new Set(["error", "aborted", "abort", "cancelled", "canceled"]);

/**
 * Compares the two newest usages: the provider's count of the text between them, and our unscaled estimate of it.
 * Undefined when reasoning, media or a changed context lies between.
 */
export function observeUsage(
  transcript: Transcript,
  { epoch, epochStartIndex = 0, asked }: ObserveUsageOptions,
): TokenObservation | undefined {
  const newerIndex = transcript.findLastIndex(reportsContextUsage);
  const olderIndex = transcript.findLastIndex(
    (message, index) => index < newerIndex && reportsContextUsage(message),
  );
  const [older, newer] = [transcript[olderIndex], transcript[newerIndex]];
  if (older?.usage === undefined || newer?.usage === undefined || olderIndex < epochStartIndex)
    return undefined;
  const { id: model } = newer.model ?? asked ?? {};
  if (model === undefined || model !== (older.model ?? asked)?.id) return undefined;

  const { callTokens, thoughts } = familyCost(tokenFamilyOf({ id: model }));
  const between = transcript.slice(olderIndex, newerIndex).filter(isVisibleToModel);
  if (between.some(isUncountable)) return undefined;
  const leavesOut = thoughts === "last-turn" && between.some(({ role }) => role === "user");
  if (leavesOut && between.some(hasThoughts)) return undefined;
  let estimatedTokens = 0;
  let ownTokens = 0;
  for (const message of between) {
    const sizes = messageSizes(message, "calibrated");
    estimatedTokens += sizes.writtenTokens + sizes.resultTokens;
    ownTokens += sizes.sealedTokens + sizes.calls * callTokens;
  }
  const grownTokens = promptTokens(newer.usage) - promptTokens(older.usage);
  return { model, epoch, estimatedTokens, usageTokens: grownTokens - ownTokens };
}

interface ObserveUsageOptions {
  readonly epoch: number;
  /** How many messages there were when the context last changed. */
  readonly epochStartIndex?: number;
  /** The model of messages that name none. */
  readonly asked?: ModelRef;
}

/**
 * True for what makes a comparison impossible: thoughts of unknown length, media (priced by size), and a summary
 * (changes the context).
 */
function isUncountable(message: Message): boolean {
  const { writtenMedia, resultMedia, sealedTokens } = messageSizes(message, "calibrated");
  if (message.summary === true || writtenMedia + resultMedia > 0) return true;
  return sealedTokens === 0 && hasThoughts(message);
}

function hasThoughts({ parts }: Message): boolean {
  return parts.some((part) => part.type === "reasoning" && part.agentVisible !== false);
}

/** The tokens of a request's prompt; 0 when unknown. */
export function promptTokens(usage: Usage | undefined): number {
  if (usage === undefined) return 0;
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return atLeastZero(inputTokens) + atLeastZero(cacheReadTokens) + atLeastZero(cacheWriteTokens);
}

function atLeastZero(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) ? Math.max(0, tokens) : 0;
}
