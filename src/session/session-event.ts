import type { CompactionTrigger } from "../compaction/plan-compaction-types.ts";

/** Something the session did or noticed. Every start is followed by exactly one end, also after an abort. */
export type SessionEvent = CompactionStart | CompactionEnd | ToolSummaryStart | ToolSummaryEnd | ContextChanged | SessionWarning;

export interface CompactionStart {
  readonly type: "compaction_start";
  readonly auto: boolean;
  readonly trigger: CompactionTrigger;
  /** Messages in the window. */
  readonly before: number;
}

export interface CompactionEnd {
  readonly type: "compaction_end";
  readonly auto: boolean;
  readonly trigger: CompactionTrigger;
  readonly before: number;
  readonly after: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Why the window is as it was. */
  readonly error?: string;
  /** No model wrote the summary. */
  readonly degraded?: true;
}

export interface ToolSummaryStart {
  readonly type: "tool_summary_start";
  readonly visibleResults: number;
}

export interface ToolSummaryEnd {
  readonly type: "tool_summary_end";
  readonly archivedResults: number;
  readonly error?: string;
  readonly degraded?: true;
}

/** The window was edited, or an edit was taken back: what was counted before no longer holds. */
export interface ContextChanged {
  readonly type: "context_changed";
  readonly kind: string;
  readonly reason: string;
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
  | "hook";
