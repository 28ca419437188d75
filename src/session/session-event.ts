import type { CompactionEvent } from "../compaction/compact-outcome.ts";

/** Something the session did or noticed. Every start is followed by exactly one end, also after an abort. */
export type SessionEvent =
  | CompactionEvent
  | ToolSummaryStart
  | ToolSummaryEnd
  | ContextChanged
  | SessionWarning;

export interface ToolSummaryStart {
  readonly type: "tool_summary_start";
  readonly visibleResults: number;
}

export interface ToolSummaryEnd {
  readonly type: "tool_summary_end";
  readonly archivedResults: number;
  readonly error?: string;
  /** The heuristic had to take the model's place. */
  readonly degraded?: true;
}

/** The window is another one: it was edited, an edit was taken back, or its owner or the model changed. */
export interface ContextChanged {
  readonly type: "context_changed";
  /** The step, or `undo`, `restore`, `base` (the owner changed earlier messages), `model`. */
  readonly kind: string;
  readonly reason: string;
  /** Estimated tokens. */
  readonly before: number;
  readonly after: number;
  readonly epoch: number;
}

export interface SessionWarning {
  readonly type: "warning";
  readonly code: WarningCode;
  readonly message: string;
}

export type WarningCode =
  | "compaction-gained-little"
  | "not-journalled"
  | "journal-damaged"
  | "no-usable-window"
  | "profiles-disagree"
  | "edits-dropped"
  | "usage-anomaly"
  | "hook-failed"
  | "not-persisted";
