import type { Transcript } from "../transcript/message.ts";

/** System prompt and tool definitions: what the provider counted beyond the messages that it was sent. */
export function sentBesideTokens(sent: Transcript, tokensOf: (messages: Transcript) => number): number {
  // A summary is asked for by a request of its own, which holds other messages.
  const index = sent.findLastIndex(({ usage, summary }) => !summary && (usage?.inputTokens ?? 0) > 0);
  const usage = sent[index]?.usage;
  if (usage === undefined) return 0;
  const counted = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return Math.max(0, counted - tokensOf(sent.slice(0, index)));
}
