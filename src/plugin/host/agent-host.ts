/** What one request of the model used. */
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
