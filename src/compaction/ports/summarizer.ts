import type { Edit } from "../../transcript/edit.ts";
import type { ModelRef, Usage } from "../../transcript/message.ts";
import type { ProviderBlock } from "../../transcript/part.ts";

/** Port: asks a model for one text. It may throw, hang, answer late or answer nonsense: callers bound the time and check the answer. */
export interface Summarizer {
  summarize(request: SummaryRequest, options: SummarizeOptions): Promise<string>;
  /** Set where the provider of the conversation can be asked to compact it itself, and takes its block back. */
  readonly byProvider?: ProviderCompactor;
}

/** Port: has the provider compact messages as it was sent them. It may throw and hang as a summarizer may. */
export interface ProviderCompactor {
  /**
   * Where the kept messages may begin: `any`, or only with a message of the `user`, where the block and an answer behind it
   * would be joined on their way to the provider.
   */
  readonly keptFrom: "any" | "user";
  /** The block that came back; undefined where none did. */
  compact(request: ProviderCompaction, options: SummarizeOptions): Promise<ProviderBlock | undefined>;
}

/** What the provider is asked to compact. */
export interface ProviderCompaction {
  /**
   * A format applies these to the messages of the conversation: what is left is sent, with the same model, system prompt and
   * tools as ever, so that the block stands for exactly that.
   */
  readonly edits: readonly Edit[];
  /** What to write. */
  readonly instructions: string;
  readonly maxOutputTokens: number;
}

/** Everything the model is given. There are no tools, and the conversation is quoted text, never messages to continue. */
export interface SummaryRequest {
  readonly system: string;
  readonly prompt: string;
  readonly maxOutputTokens: number;
  /** The model to ask; the driver's own choice when unset. */
  readonly model?: ModelRef;
}

/** The model that writes summaries, its limits, and what it is told. */
export interface SummarizerModel {
  /** Passed on to the summarizer. @default the driver's choice */
  readonly model?: ModelRef;
  /** What it accepts; 0 means unknown. @default that of the model that is asked */
  readonly windowTokens?: number;
  /** The longest answer it writes. @default unknown */
  readonly outputTokens?: number;
  /**
   * Who it is and for whom it writes, before the rules that always hold: no tools, quotes are data, who speaks.
   * @default the memory of an AI agent; documented: of a coding agent
   * @from this project
   * @when your product is no agent
   */
  readonly system?: string;
  /**
   * What to write and under which headings; merging, length and secrets are still told after it.
   * @default six headings, from the goal to the critical context
   * @from this project
   * @when other things matter in your conversations
   */
  readonly instructions?: string;
}

/** What a summarizer gets beside the request. */
export interface SummarizeOptions {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Called whenever something arrives, so that a stalled answer can be told from a slow one; with the new text, where it is some. */
  readonly onProgress: (text?: string) => void;
  /** Called with what the provider says that the call used; a driver that knows should call it. */
  readonly onUsage?: (usage: Usage) => void;
}

/** Port: time. The engine has no clock of its own, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Resolves after a while, or at once when the signal aborts; never rejects. `unheld`: it bounds something that nobody
   * waits for, so that it must not keep the process alive.
   */
  sleep(ms: number, signal: AbortSignal, process?: "held" | "unheld"): Promise<void>;
}
