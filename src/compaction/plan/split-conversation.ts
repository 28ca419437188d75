import { omitUndefined } from "../../text/unknown-value.ts";
import { estimateMessageTokens, type MessageEstimateOptions } from "../../transcript/estimate-message.ts";
import { type Message, type ModelRef, type Transcript, typedText } from "../../transcript/message.ts";
import type { Representation } from "../summary/message.ts";
import { type CompactAt, compactAtTokens } from "../trigger/compact-at.ts";
import { type CompactionSettings, DEFAULT_COMPACTION_SETTINGS } from "../trigger/compaction-settings.ts";
import { type ModelLimits, type OverflowSettings, usableTokens } from "../trigger/overflow.ts";
import { effectiveKeepRecentTokens, effectiveTokenLimit } from "../trigger/token-limit.ts";
import { isUnanswered, lastRequestIndex } from "./last-request.ts";

/** What of a conversation is replaced and what stays, both oldest first. */
export interface ConversationSplit {
  readonly replaced: Transcript;
  readonly kept: Transcript;
  /** Those of the kept that would have been replaced, but for a part of them that stays. */
  readonly protectedMessages: Transcript;
  /** The beginning of the turn in which the cut falls; empty when it falls between turns. */
  readonly turnPrefix: Transcript;
}

/**
 * Where a conversation is cut: the newest messages that fit stay, and the user's last request with them. Every
 * message is a safe place to cut, since a call and its outcome are one part of one message.
 */
export function splitConversation(conversation: Transcript, options: SplitOptions): ConversationSplit {
  const costs = conversation.map((message) => costOf(message, options.estimate));
  let cut = firstKept(costs, options.keep);
  if (cut === 0 && options.forced === "forced") {
    const totalTokens = costs.reduce((sum, cost) => sum + cost, 0);
    cut = firstKept(costs, { type: "tokens", tokens: Math.floor(totalTokens * FORCED_SHARE), atLeast: 1 });
  }
  const request = lastRequestIndex(conversation);
  if (isUnanswered(conversation)) cut = Math.min(cut, request);
  // A request whose answer is partly kept stays a message of its own, before the rest of the answer.
  const isRequestKept = request !== -1 && request < cut && cut < conversation.length;
  const older = conversation.slice(0, cut);
  const protectedMessages = older.filter(
    (message, index) => index !== request && options.isProtected?.(message),
  );
  const stays = new Set([...protectedMessages, ...(isRequestKept ? [conversation[request] as Message] : [])]);
  return {
    replaced: older.filter((message) => !stays.has(message)),
    kept: [...older.filter((message) => stays.has(message)), ...conversation.slice(cut)],
    protectedMessages,
    turnPrefix: turnPrefix(conversation, cut, isRequestKept ? request : -1).filter(
      (message) => !protectedMessages.includes(message),
    ),
  };
}

interface SplitOptions {
  readonly keep: KeepAmount;
  /** `forced`: cut even when everything fits. */
  readonly forced: "forced" | "as-needed";
  readonly estimate?: MessageEstimateOptions;
  /** Something in this message stays whatever goes. */
  readonly isProtected?: (message: Message) => boolean;
}

/** How much of the newest part stays. */
type KeepAmount =
  | { readonly type: "tokens"; readonly tokens: number; readonly atLeast: 0 | 1 }
  | { readonly type: "messages"; readonly count: number };

/** The share of the newest tokens that a forced cut leaves. */
const FORCED_SHARE = 0.3;

function firstKept(costs: readonly number[], keep: KeepAmount): number {
  if (keep.type === "messages") return Math.max(0, costs.length - keep.count);
  let leftTokens = keep.tokens;
  // Messages without tokens, such as an inserted "continue", do not count as kept.
  let owed: number = keep.atLeast;
  let cut = costs.length;
  while (cut > 0) {
    const cost = costs[cut - 1] ?? 0;
    if (cost > leftTokens && owed <= 0) break;
    leftTokens -= cost;
    if (cost > 0) owed--;
    cut--;
  }
  return cut;
}

/** An inserted "continue" must not displace the messages it refers to. */
function costOf(message: Message, estimate: MessageEstimateOptions | undefined): number {
  return message.metadata?.kind === "continue" ? 0 : estimateMessageTokens(message, estimate);
}

/** The replaced beginning of the turn in which the cut falls. */
function turnPrefix(conversation: Transcript, cut: number, keptRequest: number): Transcript {
  const next = conversation[cut];
  if (next === undefined || typedText(next) !== "") return [];
  const start = conversation.findLastIndex((message, index) => index < cut && typedText(message) !== "");
  return start === -1 || (start === keptRequest && start === cut - 1) ? [] : conversation.slice(start, cut);
}

/**
 * How much stays word for word: a pivot's tail as asked for or by the usable window, a user summary's recent part by the
 * settings.
 */
export function keepAmount(input: KeepInput): KeepAmount {
  const { settings = DEFAULT_COMPACTION_SETTINGS, limits, tailTokens, profile, overheadTokens } = input;
  const { compactAt } = input;
  if (input.representation === "pivot" && tailTokens !== "as-settings") {
    const mostTokens = mostTailTokens(input);
    const tokens = Math.min(tailTokens ?? defaultTailTokens(input), mostTokens);
    return { type: "tokens", tokens, atLeast: tokens > 0 ? 1 : 0 };
  }
  const limit = effectiveTokenLimit(settings, {
    contextWindowTokens: limits?.contextTokens ?? 0,
    ...omitUndefined({ model: input.model, profile, overheadTokens, compactAt }),
  });
  const tokens = effectiveKeepRecentTokens(settings, limit);
  if (tokens > 0) return { type: "tokens", tokens, atLeast: 1 };
  const { keepRecent } = settings.keepRecent > 0 ? settings : DEFAULT_COMPACTION_SETTINGS;
  return { type: "messages", count: keepRecent };
}

export interface KeepInput {
  /** As which messages a summary stands in the window. @default pivot */
  readonly representation: Representation;
  /** When the window is compacted, and how much of it stays. @default those of compaction, documented */
  readonly settings?: CompactionSettings;
  /** The limits of the model that reads the conversation, where known. @default unknown */
  readonly limits?: ModelLimits;
  /** That model, where it may have a threshold of its own. @default unset */
  readonly model?: ModelRef;
  /**
   * A pivot's tail in tokens; 0 keeps none. `as-settings`: what `keepRecentTokens` and `keepRecent` say. Without it, a
   * quarter of what is usable.
   * @default a quarter of what is usable
   */
  readonly tailTokens?: number | "as-settings";
  /** How the reserve for an answer is counted where the tail is a share of what is usable. @default as for a session */
  readonly overflow?: Partial<OverflowSettings>;
  /** By which formula the limit is computed that the settings are clamped to; the documented one when unset. @default documented */
  readonly profile?: "default" | "documented";
  /** Where the window is compacted earlier than at its limit: the tail is at most a quarter of what is left then. @default at the limit */
  readonly compactAt?: CompactAt;
  /** What system prompt and tools take of the window. */
  readonly overheadTokens?: number;
}

/** The most that may stay where the window is compacted early; without that the window itself is the bound. */
function mostTailTokens({ compactAt, limits, overheadTokens = 0 }: KeepInput): number {
  const contextWindowTokens = limits?.contextTokens ?? 0;
  const limitTokens = compactAtTokens({
    contextWindowTokens,
    overheadTokens,
    ...omitUndefined({ compactAt }),
  });
  return Math.floor((limitTokens - overheadTokens) * TAIL_SHARE);
}

const MIN_TAIL_TOKENS = 2_000;

const MAX_TAIL_TOKENS = 15_000;

const TAIL_SHARE = 0.25;

function defaultTailTokens({
  settings = DEFAULT_COMPACTION_SETTINGS,
  limits,
  overflow,
  overheadTokens = 0,
}: KeepInput): number {
  const windowTokens = limits?.contextTokens ?? 0;
  const usable =
    limits !== undefined && windowTokens > 0
      ? usableTokens(limits, overflow)
      : (effectiveTokenLimit(settings, 0).limitTokens ?? Number.POSITIVE_INFINITY);
  const tokens = Math.min(MAX_TAIL_TOKENS, Math.max(MIN_TAIL_TOKENS, Math.floor(usable * TAIL_SHARE)));
  // The minimum is meant for large windows; a tail must never fill a small one.
  const freeTokens = Math.max(0, windowTokens - overheadTokens);
  return windowTokens > 0 ? Math.min(tokens, Math.floor(freeTokens / 2)) : tokens;
}
