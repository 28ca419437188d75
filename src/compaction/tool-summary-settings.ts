import { FORK_NO_TRUNCATION_TOOLS } from "../stages/graduated-tiers.ts";
import { ConfigurationError } from "../text/configuration-error.ts";
import type { RedactOptions } from "../text/redact-secrets.ts";
import type { ModelRef } from "../transcript/message.ts";
import { TOOL_SUMMARY_STRATEGIES, type ToolSummaryStrategy } from "./compaction-settings.ts";
import type { Pin } from "./pins.ts";
import type { ExemptResults } from "./tool-summary-results.ts";

/** Tool summary settings completed with their defaults; what cannot be used is thrown, every problem at once. */
export function readToolSummarySettings(settings: ToolSummarySettings): KnownToolSummarySettings {
  const { toolCallCutoff, toolSummaryStrategy, mode = "background" } = settings;
  const strategy =
    toolSummaryStrategy === undefined || toolSummaryStrategy === "" ? "llm" : toolSummaryStrategy;
  const problems: string[] = [];
  if (typeof toolCallCutoff !== "number" || Number.isNaN(toolCallCutoff)) {
    problems.push(
      `toolCallCutoff is ${String(toolCallCutoff)}; give a number of results, 0 to switch it off`,
    );
  }
  if (!TOOL_SUMMARY_STRATEGIES.includes(strategy)) {
    problems.push(
      `toolSummaryStrategy is ${String(strategy)}; give one of ${TOOL_SUMMARY_STRATEGIES.join(", ")}`,
    );
  }
  if (!TOOL_SUMMARY_MODES.includes(mode)) {
    problems.push(`mode is ${String(mode)}; give one of ${TOOL_SUMMARY_MODES.join(", ")}`);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  const cutoffResults = Math.floor(toolCallCutoff);
  return {
    cutoffResults,
    strategy: cutoffResults <= 0 ? "off" : strategy,
    mode,
    protectedTools: settings.protectedTools ?? FORK_NO_TRUNCATION_TOOLS,
    pins: settings.pins ?? [],
    redact: settings.redact ?? {},
    model: settings.model,
  };
}

/** When and how old tool results are summed up; the settings of a compaction can be passed as they are. */
export interface ToolSummarySettings {
  /** Visible results above which the oldest are summed up; 0 or less switches that off. */
  readonly toolCallCutoff: number;
  /** Empty or unset means `llm`. */
  readonly toolSummaryStrategy?: ToolSummaryStrategy | "";
  readonly mode?: ToolSummaryMode;
  /** Tools whose results are neither archived nor counted; a name matches when it contains one of these. */
  readonly protectedTools?: readonly string[];
  /** Results that stay as they are, and do not count either. */
  readonly pins?: readonly Pin[];
  readonly redact?: RedactOptions;
  /** The model to ask; the summarizer's own choice when unset. */
  readonly model?: ModelRef;
}

/** `sync`: one summary a result, awaited. `background`: one a batch of results, asked for while the agent goes on. */
export type ToolSummaryMode = "sync" | "background";

export const TOOL_SUMMARY_MODES: readonly ToolSummaryMode[] = ["sync", "background"];

export interface KnownToolSummarySettings extends ExemptResults {
  readonly cutoffResults: number;
  readonly strategy: ToolSummaryStrategy;
  readonly mode: ToolSummaryMode;
  readonly redact: RedactOptions;
  readonly model: ModelRef | undefined;
}
