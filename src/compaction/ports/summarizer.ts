import type { ModelRef, Usage } from "../../transcript/message.ts";

/** Port: asks a model for one text. It may throw, hang, answer late or answer nonsense: callers bound the time and check the answer. */
export interface Summarizer {
  summarize(request: SummaryRequest, options: SummarizeOptions): Promise<string>;
}

/** Everything the model is given. There are no tools, and the conversation is quoted text, never messages to continue. */
export interface SummaryRequest {
  readonly system: string;
  readonly prompt: string;
  readonly maxOutputTokens: number;
  /** The model to ask; the driver's own choice when unset. */
  readonly model?: ModelRef;
}

/** What a summarizer gets beside the request. */
export interface SummarizeOptions {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Called whenever something arrives, so that a stalled answer can be told from a slow one. */
  readonly onProgress: () => void;
  /** Called with what the provider says that the call used; a driver that knows should call it. */
  readonly onUsage?: (usage: Usage) => void;
}
