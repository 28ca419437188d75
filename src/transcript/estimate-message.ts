import { anything, NO_OPTIONS, optionsCheck, rule, type Shape } from "../text/check.ts";
import { safeJson } from "../text/json.ts";
import {
  CHARS_PER_TOKEN,
  ESTIMATOR_SHAPE,
  familyCost,
  roundTokens,
  type TokenEstimator,
  type TokenFamily,
  unroundedTokens,
} from "../text/tokens/estimate-tokens.ts";
import { isObject } from "../text/unknown-value.ts";
import { isCleared, isMedia, outcomeText } from "./content.ts";
import { isVisibleToModel, type Message, shownOutcome } from "./message.ts";
import { CLEARED_PLACEHOLDER, type FilePart, type Part, type ReasoningPart } from "./part.ts";

/**
 * About how many tokens a message brings into the model's window, rounded up. What is hidden counts nothing,
 * a cleared output counts as its placeholder.
 */
export function estimateMessageTokens(
  message: Message,
  options: MessageEstimateOptions = NO_OPTIONS,
): number {
  checkOptions(options);
  return messageTokens(message, options);
}

/** The same without a check of the options. */
export function messageTokens(message: Message, options: MessageEstimateOptions): number {
  return scaledTokens(message, options, "whole");
}

/**
 * Tokens of the tool results of a message. They came after the model wrote the message, so its usage does not count
 * them.
 */
export function estimateResultTokens(message: Message, options: MessageEstimateOptions = {}): number {
  return scaledTokens(message, options, "results");
}

/** Tokens of the thoughts of a message. Some models read them again only until the user's next request. */
export function estimateThoughtTokens(message: Message, options: MessageEstimateOptions = {}): number {
  return Math.floor(thoughtTokens(messageSizes(message, options.estimator ?? "documented"), options));
}

/** How the tokens of a message are counted. */
export interface MessageEstimateOptions {
  /** How tokens are counted; characters / 4 when unset. @default documented */
  readonly estimator?: TokenEstimator;
  /** Whose tokens; only the calibrated estimate tells families apart. @default by the model, else gpt */
  readonly family?: TokenFamily;
  /** What was learned from the session's own usage; its scale replaces the family's. @default none */
  readonly calibration?: TokenCalibration;
}

/** What the options of `estimateMessageTokens` may be. */
export const MESSAGE_ESTIMATE_SHAPE: Shape<MessageEstimateOptions> = {
  ...ESTIMATOR_SHAPE,
  calibration: rule("what a session learned from its usage", isObject),
};

// Also accepts the options of a context estimate, which contain these.
const checkOptions = optionsCheck({
  ...MESSAGE_ESTIMATE_SHAPE,
  model: anything,
  epochStartIndex: anything,
  systemChars: anything,
  toolsChars: anything,
  interval: anything,
});

/** The size of a message before scaling and rounding. Media cost the same with every estimator. */
interface MessageSizes {
  readonly writtenTokens: number;
  /** Tokens of the readable thoughts. */
  readonly thoughtTextTokens: number;
  /**
   * Tokens of the thoughts as the provider counted them, or estimated from their signature; in the model's own
   * tokens.
   */
  readonly sealedTokens: number;
  readonly resultTokens: number;
  readonly writtenMedia: number;
  readonly resultMedia: number;
  readonly calls: number;
}

/** How many characters an image counts as: about 1,200 tokens. Other media count the same. */
export const IMAGE_CHARS = 4800;

const MEDIA_TOKENS = IMAGE_CHARS / CHARS_PER_TOKEN;

/** The sizes of a message by one estimator. Messages never change, so each is measured once. */
export function messageSizes(message: Message, estimator: TokenEstimator): MessageSizes {
  const cache = cacheFor(estimator);
  let sizes = cache.get(message);
  if (sizes === undefined) {
    sizes = isVisibleToModel(message) ? measure(message, estimator) : NO_SIZES;
    cache.set(message, sizes);
  }
  return sizes;
}

/** Tokens of the model for one token of the unscaled estimate. */
export function scaleOf({ estimator, family = "gpt", calibration }: MessageEstimateOptions): number {
  return calibration?.scale ?? (estimator === "calibrated" ? familyCost(family).scale : 1);
}

function scaledTokens(message: Message, options: MessageEstimateOptions, what: "whole" | "results"): number {
  const { estimator = "documented", family = "gpt" } = options;
  const sizes = messageSizes(message, estimator);
  const callTokens = estimator === "calibrated" ? sizes.calls * familyCost(family).callTokens : 0;
  const textTokens = sizes.resultTokens + (what === "whole" ? sizes.writtenTokens : 0);
  const media = sizes.resultMedia + (what === "whole" ? sizes.writtenMedia : 0);
  const thoughts = what === "whole" ? thoughtTokens(sizes, options) : 0;
  return roundTokens(textTokens * scaleOf(options) + thoughts + media * MEDIA_TOKENS + callTokens, "ceil");
}

/**
 * The readable text of a thought is often only a summary, but the whole thought is sent again: take the larger
 * number.
 */
function thoughtTokens(sizes: MessageSizes, options: MessageEstimateOptions): number {
  const ofText = sizes.thoughtTextTokens * scaleOf(options);
  return options.estimator === "calibrated" ? Math.max(ofText, sizes.sealedTokens) : ofText;
}

const NO_SIZES: MessageSizes = {
  writtenTokens: 0,
  thoughtTextTokens: 0,
  sealedTokens: 0,
  resultTokens: 0,
  writtenMedia: 0,
  resultMedia: 0,
  calls: 0,
};

const caches = new WeakMap<object, WeakMap<Message, MessageSizes>>();
const BUILT_IN = { documented: {}, calibrated: {} };

function cacheFor(estimator: TokenEstimator): WeakMap<Message, MessageSizes> {
  const key = typeof estimator === "function" ? estimator : BUILT_IN[estimator];
  const cache = caches.get(key) ?? new WeakMap<Message, MessageSizes>();
  caches.set(key, cache);
  return cache;
}

function measure(message: Message, estimator: TokenEstimator): MessageSizes {
  const count = (text: string): number => unroundedTokens(text, estimator);
  const sizes = { ...NO_SIZES };
  for (const part of message.parts) {
    if (part.agentVisible === false) continue;
    if (part.type === "reasoning") {
      sizes.thoughtTextTokens += count(part.text);
      sizes.sealedTokens += (part.sealedChars ?? 0) * TOKENS_PER_SEALED_CHAR;
    } else sizes.writtenTokens += writtenTokens(part, count);
    if (part.type === "file" && isSentAsMedia(part)) sizes.writtenMedia += 1;
    if (part.type !== "tool") continue;
    sizes.calls += 1;
    const outcome = shownOutcome(part);
    sizes.resultTokens += count(outcomeText(outcome));
    if (outcome.status === "done") sizes.resultMedia += outcome.attachments.filter(isSentAsMedia).length;
  }
  if (message.parts.some(({ type, agentVisible }) => type === "reasoning" && agentVisible !== false))
    sizes.sealedTokens = Math.max(sizes.sealedTokens, countedThoughts(message));
  return sizes;
}

/** Measured for Claude: counted tokens of a thought per character of its signature. */
const TOKENS_PER_SEALED_CHAR = 0.24;

/** The provider's count of thoughts, when plausible. */
function countedThoughts({ usage }: Message): number {
  const tokens = usage?.reasoningTokens ?? 0;
  // A value from outside may not be a number, whatever its type says.
  return Number.isFinite(tokens) && tokens > 0 && tokens <= MAX_THOUGHT_TOKENS ? tokens : 0;
}

/** More than any model writes in one answer. */
const MAX_THOUGHT_TOKENS = 200_000;

function writtenTokens(part: Exclude<Part, ReasoningPart>, count: (text: string) => number): number {
  switch (part.type) {
    case "text":
      return part.ignored ? 0 : count(part.text);
    case "tool":
      return count(part.tool) + (part.input === undefined ? 0 : count(safeJson(part.input)));
    case "opaque":
      return (part.chars ?? 0) / CHARS_PER_TOKEN;
    case "file":
    case "compaction":
      return 0;
    default:
      part satisfies never;
      return 0;
  }
}

function isSentAsMedia(file: FilePart): boolean {
  return file.agentVisible !== false && isMedia(file);
}

/** The characters that a message brings into a window: its texts, inputs and results, without labels. */
export function charsOf(message: Message): number {
  if (!isVisibleToModel(message)) return 0;
  let chars = 0;
  for (const part of message.parts) chars += charsOfPart(part);
  return chars;
}

/** The characters that one part brings into a window. */
export function charsOfPart(part: Part): number {
  if (part.agentVisible === false) return 0;
  if (part.type === "text") return part.ignored ? 0 : part.text.length;
  if (part.type === "opaque") return part.chars ?? 0;
  if (part.type !== "tool") return 0;
  const inputChars = part.input === undefined ? 0 : safeJson(part.input).length;
  const { outcome } = part;
  if (outcome.status === "pending") return inputChars;
  if (isCleared(part)) return inputChars + CLEARED_PLACEHOLDER.length;
  return inputChars + outcomeText(outcome).length;
}

/** How a model's tokens relate to the estimate, learned from the usage of one session. */
export interface TokenCalibration {
  /** Tokens of the model for one token of the unscaled estimate. */
  readonly scale: number;
  /** How far observations lie from the scale, as a share of it. */
  readonly spread: number;
  readonly observations: number;
  /** The newest epoch seen; an older observation describes a context that no longer exists. */
  readonly epoch: number;
  /** The model that was observed; for another one, learning starts over. */
  readonly model: string;
}

/** One comparison of our estimate with the provider's count of the same text. */
export interface TokenObservation {
  /** Unscaled, without the price of calls and media. */
  readonly estimatedTokens: number;
  /** What the provider counted for the same text. */
  readonly usageTokens: number;
  readonly epoch: number;
  readonly model: string;
}

/** The calibration before any observation: the family's defaults. */
export function startCalibration(model: string, family: TokenFamily): TokenCalibration {
  const { scale, scaleMargin } = familyCost(family);
  return { scale, spread: scaleMargin, observations: 0, epoch: 0, model };
}

/**
 * The calibration after one more observation. Observations from an older epoch or another model, too small ones and
 * implausible ones are ignored: the same object is returned.
 */
export function calibrate(state: TokenCalibration, observation: TokenObservation): TokenCalibration {
  const { estimatedTokens, usageTokens, epoch, model } = observation;
  if (model !== state.model || !(epoch >= state.epoch)) return state;
  if (!(estimatedTokens >= MIN_ESTIMATED_TOKENS)) return state;
  const ratio = usageTokens / estimatedTokens;
  if (!(ratio >= MIN_RATIO && ratio <= MAX_RATIO)) return state;

  const observations = state.observations + 1;
  // The default of the family counts as one observation. Each later one weighs at least a tenth, so that the scale
  // can still change.
  const rate = Math.max(MIN_RATE, 1 / (observations + 1));
  // A single ratio can be far too high because of text that only the provider sees, so one observation moves the
  // scale by a limited amount.
  const pull = clamp(ratio - state.scale, -MAX_PULL * state.scale, MAX_PULL * state.scale);
  const scale = clamp(state.scale + rate * pull, MIN_SCALE, MAX_SCALE);
  const distance = Math.abs(ratio - scale) / scale;
  return { model, epoch, observations, scale, spread: state.spread + rate * (distance - state.spread) };
}

const MIN_ESTIMATED_TOKENS = 200;
const MIN_RATIO = 0.25;
const MAX_RATIO = 4;
const MIN_SCALE = 0.5;
const MAX_SCALE = 2.5;
const MIN_RATE = 0.1;
const MAX_PULL = 0.2;

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
