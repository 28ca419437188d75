import {
  CHARS_PER_TOKEN,
  roundTokens,
  type TokenEstimator,
  unroundedTokens,
} from "../text/estimate-tokens.ts";
import { safeJson } from "../text/safe-json.ts";
import { familyCost, type TokenFamily } from "../text/token-model-families.ts";
import type { Message } from "./message.ts";
import { type FilePart, outcomeText, type Part } from "./part.ts";
import type { TokenCalibration } from "./token-calibration.ts";
import { isVisibleToModel, shownOutcome } from "./visibility.ts";

/**
 * About how many tokens a message brings into the model's window, rounded up. What is hidden counts nothing,
 * a cleared output counts as its placeholder.
 */
export function estimateMessageTokens(message: Message, options: MessageEstimateOptions = {}): number {
  const { estimator = "documented" } = options;
  const sizes = messageSizes(message, estimator);
  return scaledTokens(sizes, options, "whole");
}

/** The tokens of a message's tool results alone: what came in after the model had written the message. */
export function estimateResultTokens(message: Message, options: MessageEstimateOptions = {}): number {
  const { estimator = "documented" } = options;
  return scaledTokens(messageSizes(message, estimator), options, "results");
}

export interface MessageEstimateOptions {
  readonly estimator?: TokenEstimator;
  /** Whose tokens; only the calibrated estimate tells families apart. */
  readonly family?: TokenFamily;
  /** What the session's own usage has taught; its scale takes the place of the family's. */
  readonly calibration?: TokenCalibration;
}

/** What a message weighs before scale and rounding. Media have a fixed price, whoever counts. */
export interface MessageSizes {
  readonly writtenTokens: number;
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
    sizes = isVisibleToModel(message) ? measure(message, estimator) : NOTHING;
    cache.set(message, sizes);
  }
  return sizes;
}

function scaledTokens(
  sizes: MessageSizes,
  { estimator = "documented", family = "gpt", calibration }: MessageEstimateOptions,
  what: "whole" | "results",
): number {
  const familyScale = estimator === "calibrated" ? familyCost(family).scale : 1;
  const callTokens = estimator === "calibrated" ? sizes.calls * familyCost(family).callTokens : 0;
  const textTokens = sizes.resultTokens + (what === "whole" ? sizes.writtenTokens : 0);
  const media = sizes.resultMedia + (what === "whole" ? sizes.writtenMedia : 0);
  return roundTokens(
    textTokens * (calibration?.scale ?? familyScale) + media * MEDIA_TOKENS + callTokens,
    "ceil",
  );
}

const NOTHING: MessageSizes = {
  writtenTokens: 0,
  resultTokens: 0,
  writtenMedia: 0,
  resultMedia: 0,
  calls: 0,
};

const caches = new Map<"documented" | "calibrated", WeakMap<Message, MessageSizes>>();
const cachesOfFunctions = new WeakMap<(text: string) => number, WeakMap<Message, MessageSizes>>();

function cacheFor(estimator: TokenEstimator): WeakMap<Message, MessageSizes> {
  const known = typeof estimator === "function" ? cachesOfFunctions.get(estimator) : caches.get(estimator);
  if (known !== undefined) return known;
  const cache = new WeakMap<Message, MessageSizes>();
  if (typeof estimator === "function") cachesOfFunctions.set(estimator, cache);
  else caches.set(estimator, cache);
  return cache;
}

function measure(message: Message, estimator: TokenEstimator): MessageSizes {
  const count = (text: string): number => unroundedTokens(text, estimator);
  const sizes = { ...NOTHING };
  for (const part of message.parts) {
    if (part.agentVisible === false) continue;
    sizes.writtenTokens += writtenTokens(part, count);
    if (part.type === "file") sizes.writtenMedia += mediaOf(part);
    if (part.type !== "tool") continue;
    sizes.calls += 1;
    const outcome = shownOutcome(part);
    sizes.resultTokens += count(outcomeText(outcome));
    if (outcome.status === "done")
      for (const attachment of outcome.attachments) sizes.resultMedia += mediaOf(attachment);
  }
  return sizes;
}

function writtenTokens(part: Part, count: (text: string) => number): number {
  switch (part.type) {
    case "text":
      return part.ignored ? 0 : count(part.text);
    case "reasoning":
      return count(part.text);
    case "tool":
      return count(part.tool) + (part.input === undefined ? 0 : count(safeJson(part.input)));
    case "file":
    case "compaction":
    case "opaque":
      return 0;
    default:
      part satisfies never;
      return 0;
  }
}

/** 1 for a file that is sent as media; 0 for text files and folders, whose content hosts send as a text part. */
function mediaOf({ mime, agentVisible }: FilePart): number {
  if (agentVisible === false) return 0;
  return mime.startsWith("text/") || mime === "application/x-directory" ? 0 : 1;
}
