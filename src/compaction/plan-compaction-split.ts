import { estimateMessageTokens, type MessageEstimateOptions } from "../transcript/estimate-message-tokens.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { isUnanswered, lastRequestIndex, typedText } from "./plan-compaction-requests.ts";

/** What of a conversation is folded and what stays, both oldest first. */
export interface Split {
  readonly folded: Transcript;
  readonly kept: Transcript;
  /** The beginning of the turn in which the cut falls; empty when it falls between turns. */
  readonly turnPrefix: Transcript;
}

/**
 * Where a conversation is cut: the newest messages that fit stay, and the user's last request with them. Every
 * message is a safe place to cut, since a call and its outcome are one part of one message.
 */
export function splitConversation(conversation: Transcript, options: SplitOptions): Split {
  const costs = conversation.map((message) => costOf(message, options.estimate));
  let cut = firstKept(costs, options.keep);
  if (cut === 0 && options.forced === "forced") {
    const totalTokens = costs.reduce((sum, cost) => sum + cost, 0);
    cut = firstKept(costs, { type: "tokens", tokens: Math.floor(totalTokens * FORCED_SHARE), atLeast: 1 });
  }
  const request = lastRequestIndex(conversation);
  if (isUnanswered(conversation)) cut = Math.min(cut, request);
  // A request whose answer is partly kept is read as the message that it is, before what is left of the answer.
  const isRequestKept = request !== -1 && request < cut && cut < conversation.length;
  return {
    folded: conversation.slice(0, cut).filter((_, index) => !isRequestKept || index !== request),
    kept: [...(isRequestKept ? [conversation[request] as Message] : []), ...conversation.slice(cut)],
    turnPrefix: turnPrefix(conversation, cut, isRequestKept ? request : -1),
  };
}

export interface SplitOptions {
  readonly keep: Keep;
  /** `forced`: cut even when everything fits. */
  readonly forced: "forced" | "as-needed";
  readonly estimate?: MessageEstimateOptions;
}

/** How much of the newest part stays. */
export type Keep =
  | { readonly type: "tokens"; readonly tokens: number; readonly atLeast: 0 | 1 }
  | { readonly type: "messages"; readonly count: number };

/** The share of the newest tokens that a forced cut leaves. */
const FORCED_SHARE = 0.3;

function firstKept(costs: readonly number[], keep: Keep): number {
  if (keep.type === "messages") return Math.max(0, costs.length - keep.count);
  let leftTokens = keep.tokens;
  // Only what weighs something counts as kept: not our own word to go on, nor an empty message.
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

/** Our own word to go on must not push out what it is about. */
function costOf(message: Message, estimate: MessageEstimateOptions | undefined): number {
  return message.metadata?.kind === "continue" ? 0 : estimateMessageTokens(message, estimate);
}

/** What the turn at the cut began with; nothing when none of it goes. */
function turnPrefix(conversation: Transcript, cut: number, keptRequest: number): Transcript {
  const next = conversation[cut];
  if (next === undefined || typedText(next) !== "") return [];
  const start = conversation.findLastIndex((message, index) => index < cut && typedText(message) !== "");
  return start === -1 || (start === keptRequest && start === cut - 1) ? [] : conversation.slice(start, cut);
}
