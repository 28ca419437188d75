import type { CompactionEvent } from "../compaction/compact.ts";
import type { SummaryUsage } from "./metered-summarizer.ts";

/** Something the session did or noticed. Every start is followed by exactly one end, also after an abort. */
export type SessionEvent =
  | CompactionEvent
  | ToolSummaryStart
  | ToolSummaryEnd
  | ContextChanged
  | SummaryUsed
  | SessionWarning;

/** The summarizer was called: what that used, whether or not its answer was of use. */
interface SummaryUsed extends SummaryUsage {
  readonly type: "summary_usage";
}

/** Old tool results are about to be summed up. */
interface ToolSummaryStart {
  readonly type: "tool_summary_start";
  /** Results that the model reads now. */
  readonly visibleResults: number;
}

/** Tool results were summarized, or that failed. */
export interface ToolSummaryEnd {
  readonly type: "tool_summary_end";
  /** Results that left the window. */
  readonly archivedResults: number;
  /** What failed. */
  readonly error?: string;
  /** Set when the summaries were made without the model because that failed. */
  readonly degraded?: true;
}

/** The window changed: it was edited, an edit was undone, or its owner or the model changed. */
interface ContextChanged {
  readonly type: "context_changed";
  /** The step, or `undo`, `base` (the owner changed earlier messages), `model`, `thoughts-refused` (by the provider). */
  readonly kind: string;
  /** Why, in a word or a sentence. */
  readonly reason: string;
  /** Estimated tokens before. */
  readonly before: number;
  /** Estimated tokens now. */
  readonly after: number;
  /** Counts the changes of the context. */
  readonly epoch: number;
  /** Thoughts of the model that were sent before, and are not any more. */
  readonly thoughtsLost?: number;
}

/** Something that the session can go on with, and somebody may want to know. */
interface SessionWarning {
  readonly type: "warning";
  /** What it is about. */
  readonly code: WarningCode;
  /** The same in a sentence. */
  readonly message: string;
}

/** What a warning is about. */
export type WarningCode =
  | "compaction-gained-little"
  | "not-journalled"
  | "journal-damaged"
  | "no-usable-window"
  | "window-raised"
  | "formulas-disagree"
  | "edits-dropped"
  | "protected-output-dropped"
  | "message-repeated"
  | "no-messages"
  | "usage-not-believed"
  | "hook-failed"
  | "stage-failed"
  | "not-persisted"
  | "provider-not-compacting"
  | "request-not-edited"
  | "thoughts-dropped"
  | "other-conversation";
