export { applyGraduatedTruncation } from "./fork/apply-graduated-truncation.ts";
export { buildForkPreamble, type ForkPreambleOptions } from "./fork/build-fork-preamble.ts";
export {
  FORK_CHAR_BUDGET,
  FORK_CHAR_NO_REMOVAL,
  FORK_NO_TRIM_THRESHOLD,
  type ForkOptions,
} from "./fork/fork-options.ts";
export { type FormattedContext, formatMessagesAsContext } from "./fork/format-messages-as-context.ts";
export { type ForkResult, processMessagesForFork } from "./fork/process-messages-for-fork.ts";
export type { ProcessingStats, TierDistribution } from "./fork/processing-stats.ts";
export { sliceFromCompactionBoundary } from "./fork/slice-from-compaction-boundary.ts";
export { type CharBudgetOptions, charBudget } from "./stages/char-budget.ts";
export { compactionBoundary, findCompactionBoundary } from "./stages/compaction-boundary.ts";
export { filterCompacted } from "./stages/filter-compacted.ts";
export {
  FORK_NO_TRUNCATION_TOOLS,
  type GraduatedTiersOptions,
  graduatedTiers,
} from "./stages/graduated-tiers.ts";
export { FORK_OWN_TOOLS, type OmitForChildOptions, omitForChild } from "./stages/omit-for-child.ts";
export { type RepairPairingOptions, repairPairing } from "./stages/repair-pairing.ts";
export {
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
  type TierLimits,
} from "./stages/tool-result-tier.ts";
export { ConfigurationError } from "./text/configuration-error.ts";
export {
  FORK_ERROR_PATTERNS,
  FORK_HEAD_TAIL_KEYWORDS,
  FORK_MORE_ERROR_PATTERNS,
  shouldUseHeadTail,
} from "./text/should-use-head-tail.ts";
export { type Cut, FORK_HEAD_RATIO, FORK_TAIL_RATIO } from "./text/truncate.ts";
export { truncateWithStrategy } from "./text/truncate-with-strategy.ts";
export { type ApplyOptions, applyEdits } from "./transcript/apply-edits.ts";
export type {
  Edit,
  EditReason,
  Handle,
  HideMessage,
  HidePart,
  InsertMessage,
  MoveMessage,
  Omitted,
  Place,
  ReplacePart,
  Stage,
} from "./transcript/edit.ts";
export { type Fault, type FaultRule, findFaults } from "./transcript/find-faults.ts";
export type { Format } from "./transcript/format.ts";
export type {
  Message,
  MessageError,
  MessageId,
  MessageKind,
  MessageMetadata,
  ModelRef,
  Role,
  Transcript,
  Usage,
} from "./transcript/message.ts";
export {
  type CallId,
  CLEARED_PLACEHOLDER,
  type CompactionPart,
  type FilePart,
  type InputCut,
  type OpaquePart,
  type Part,
  type ReasoningPart,
  type TextPart,
  type ToolOutcome,
  type ToolPart,
} from "./transcript/part.ts";
export { renderMessage } from "./transcript/render.ts";
export { runStages, type StagesResult } from "./transcript/run-stages.ts";
export { type ToolCall, type ToolResult, toolResults } from "./transcript/tool-results.ts";
export { isVisibleToModel, isVisibleToUser, project, withMetadata } from "./transcript/visibility.ts";
