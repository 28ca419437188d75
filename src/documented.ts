export type { Compacted, CompactOutcome, CompactPorts, NotCompacted } from "./compaction/compact.ts";
export {
  type CompactionInput,
  type CompactOptions,
  compact,
  compactToolResultsInRecent,
  type MaybeSummarizeOptions,
  maybeSummarizeToolResults,
  planCompaction,
} from "./compaction/doors.ts";
export type { CompactionPlan, NothingToCompact } from "./compaction/plan/plan-compaction.ts";
export { classifyProviderError, isContextLengthExceeded } from "./compaction/provider-errors/doors.ts";
export type { SummarizedToolResults } from "./compaction/tool-summaries/maybe-summarize-tool-results.ts";
export type { CompactionSettings } from "./compaction/trigger/compaction-settings.ts";
export { effectiveTokenLimit, isOverflow, shouldCompact, usableTokens } from "./compaction/trigger/doors.ts";
export {
  type ModelLimits,
  type OverflowQuestion,
  type OverflowSettings,
  readOutputCap,
} from "./compaction/trigger/overflow.ts";
export type { CompactDecision, Situation } from "./compaction/trigger/should-compact.ts";
export type { TokenLimit } from "./compaction/trigger/token-limit.ts";
export type { ProcessingStats, TierDistribution } from "./fork/context/format.ts";
export {
  buildForkPreamble,
  type ForkPreambleOptions,
  type FormattedContext,
  formatMessagesAsContext,
} from "./fork/context/format.ts";
export {
  FORK_CHAR_BUDGET,
  FORK_CHAR_NO_REMOVAL,
  FORK_NO_TRIM_THRESHOLD,
  type ForkOptions,
} from "./fork/context/options.ts";
export {
  applyGraduatedTruncation,
  type ForkResult,
  processMessagesForFork,
  sliceFromCompactionBoundary,
} from "./fork/fork.ts";
export { maxCompactionRecoveries } from "./session/recovery.ts";
export { filterCompacted, findCompactionBoundary } from "./stages/boundary.ts";
export { PRUNE_MINIMUM, PRUNE_PROTECT, type PruneOptions, type PrunePlan, prune } from "./stages/prune.ts";
export {
  FORK_NO_TRUNCATION_TOOLS,
  FORK_PARAMS_TIER_LIMITS,
  FORK_PARAMS_TIER1,
  FORK_PARAMS_TIER2,
  FORK_PARAMS_TIER3,
  FORK_TIER_MIDDLE_COUNT,
  FORK_TIER_MIDDLE_LIMIT,
  FORK_TIER_OLD_LIMIT,
  FORK_TIER_RECENT_COUNT,
  FORK_TIER_RECENT_LIMIT,
  FORK_TIER1_COUNT,
  FORK_TIER2_COUNT,
  FORK_TIER2_LIMIT,
  FORK_TIER3_LIMIT,
  getToolResultTier,
  type Tier,
} from "./stages/tiers.ts";
export { FORK_ERROR_PATTERNS, FORK_HEAD_TAIL_KEYWORDS, shouldUseHeadTail } from "./text/head-tail.ts";
export { estimateTokens } from "./text/tokens/estimate-tokens.ts";
export { FORK_HEAD_RATIO, FORK_TAIL_RATIO, truncateWithStrategy } from "./text/truncate.ts";
export { type TruncateToolContentOptions, truncateToolContent } from "./tool-output/doors.ts";
export type { ToolOutputLimits } from "./tool-output/limits.ts";
export { estimateContextTokens, estimateMessageTokens } from "./transcript/doors.ts";
export type { MessageKind } from "./transcript/message.ts";
