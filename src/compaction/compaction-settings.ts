import type { ModelRef } from "../transcript/message.ts";

/** When and how far a session is compacted. Counts are messages or results where the name gives no unit. */
export interface CompactionSettings {
  /** Compact at this many messages when no token limit is known; 0 switches that off. */
  readonly maxMessages: number;
  /** The token limit where the window is unknown or smaller than its reserve; 0 switches that off. */
  readonly maxTokens: number;
  /** Messages kept word for word when `keepRecentTokens` is 0. */
  readonly keepRecent: number;
  readonly keepRecentTokens: number;
  /** Left free below the window. */
  readonly reserveTokens: number;
  /** Visible tool results above which the oldest are summed up; 0 switches that off. */
  readonly toolCallCutoff: number;
  readonly toolSummaryStrategy: ToolSummaryStrategy;
  readonly autoCompact: boolean;
  /** A limit of its own for a model, by `provider/model`. */
  readonly thresholds: Readonly<Record<string, Threshold>>;
}

export type ToolSummaryStrategy = "llm" | "heuristic" | "off";

/** A limit in tokens, or in percent of the model's window. */
export type Threshold = { readonly tokens: number } | { readonly percent: number };

/** The strategies by name. */
export const TOOL_SUMMARY_STRATEGIES: readonly ToolSummaryStrategy[] = ["llm", "heuristic", "off"];

/** The defaults of the founding document. */
export const DEFAULT_COMPACTION_SETTINGS: CompactionSettings = {
  maxMessages: 50,
  maxTokens: 8_000,
  keepRecent: 5,
  keepRecentTokens: 20_000,
  reserveTokens: 16_384,
  toolCallCutoff: 10,
  toolSummaryStrategy: "llm",
  autoCompact: true,
  thresholds: {},
};

/** The name under which a model's threshold is kept. */
export function thresholdKey({ provider, id }: ModelRef): string {
  return `${provider}/${id}`;
}
