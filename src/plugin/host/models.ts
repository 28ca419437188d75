import type { ModelRef } from "../../transcript/message.ts";

/** A model as the agent describes it; what it does not know is unset. */
export interface ModelFacts extends ModelRef {
  readonly contextTokens?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** In one currency for the same number of tokens; input is above 0, and 0 says that a cache price is not known. */
  readonly prices?: { readonly input: number; readonly cacheRead: number; readonly cacheWrite: number };
}

/** What one request of the model used, as it is journalled. */
export interface RequestEntry {
  readonly type: "request";
  readonly messageId: string;
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly costUSD: number;
  /** Set for the request of a summary. */
  readonly summary?: true;
  readonly error?: string;
}
