export {
  type ClassifyOptions,
  classifyProviderError,
  type ErrorRecovery,
  isContextLengthExceeded,
  type ProviderErrorReport,
} from "./compaction/classify-provider-error.ts";
export type { Clock } from "./compaction/clock.ts";
export { type CompactOptions, type CompactPorts, compact } from "./compaction/compact.ts";
export type {
  Compacted,
  CompactionEnd,
  CompactionEvent,
  CompactionStart,
  CompactOutcome,
  NotCompacted,
  NotCompactedReason,
} from "./compaction/compact-outcome.ts";
export {
  compactToolResultsInRecent,
  type RecentResultsOptions,
} from "./compaction/compact-tool-results-in-recent.ts";
export {
  type CompactionSettings,
  DEFAULT_COMPACTION_SETTINGS,
  type Threshold,
  TOOL_SUMMARY_STRATEGIES,
  type ToolSummaryStrategy,
  thresholdKey,
} from "./compaction/compaction-settings.ts";
export {
  type ChangedSettings,
  changeSettings,
  type SettingsChange,
} from "./compaction/compaction-settings-change.ts";
export {
  type SettingsProblem,
  type ValidatedSettings,
  validateCompactionSettings,
} from "./compaction/compaction-settings-validate.ts";
export {
  detectSilentOverflow,
  type ModelAnswer,
  type SilentOverflow,
  type SilentReason,
} from "./compaction/detect-silent-overflow.ts";
export {
  effectiveKeepRecentTokens,
  effectiveTokenLimit,
  type ModelWindow,
  type TokenLimit,
} from "./compaction/effective-token-limit.ts";
export {
  isOverflow,
  type OverflowAnswer,
  type OverflowQuestion,
  type OverflowReason,
} from "./compaction/is-overflow.ts";
export {
  type MaybeSummarizeOptions,
  maybeSummarizeToolResults,
  type SummarizedToolResults,
} from "./compaction/maybe-summarize-tool-results.ts";
export { checkOverflow, type OverflowCheck } from "./compaction/overflow-check.ts";
export {
  DEFAULT_OVERFLOW_SETTINGS,
  OUTPUT_TOKEN_MAX,
  type OverflowProfile,
  type OverflowSettings,
  readOutputCap,
} from "./compaction/overflow-settings.ts";
export type { Pin } from "./compaction/pins.ts";
export { planCompaction } from "./compaction/plan-compaction.ts";
export type {
  CompactionInput,
  CompactionPlan,
  CompactionTrigger,
  NothingToCompact,
  SummarizerModel,
} from "./compaction/plan-compaction-types.ts";
export {
  planToolSummaries,
  type ToolSummaryBatch,
  type ToolSummaryPlan,
} from "./compaction/plan-tool-summaries.ts";
export type { ProviderErrorClass } from "./compaction/provider-errors/error-classes.ts";
export { learnContextLimit } from "./compaction/provider-errors/learn-context-limit.ts";
export { type ReadUsageOptions, readUsage } from "./compaction/read-usage.ts";
export {
  planRecovery,
  RECOVERY_LADDER,
  type RecoveryPlan,
  type RecoveryRequest,
  type RecoveryRung,
} from "./compaction/recovery-ladder.ts";
export type { CompactingInput, SessionHook } from "./compaction/session-hooks.ts";
export type { CompactingAnswer } from "./compaction/session-hooks-answer.ts";
export {
  type CompactDecision,
  type CompactReason,
  type Situation,
  shouldCompact,
} from "./compaction/should-compact.ts";
export { type TriggerStatus, triggerStatus } from "./compaction/should-compact-status.ts";
export {
  afterCompaction,
  afterContextChange,
  type CompactionGain,
  FRESH_TRIGGER,
  type TriggerState,
  type TriggerUpdate,
} from "./compaction/should-compact-trigger-state.ts";
export type { SummarizeOptions, Summarizer, SummaryRequest } from "./compaction/summarizer.ts";
export type { Redaction } from "./compaction/summary-clean-text.ts";
export type { Representation } from "./compaction/summary-message.ts";
export { toolResultKind } from "./compaction/tool-summary-archive.ts";
export type { ToolSummaryMode, ToolSummarySettings } from "./compaction/tool-summary-settings.ts";
export { type ModelLimits, usableTokens } from "./compaction/usable-tokens.ts";
export { applyGraduatedTruncation } from "./fork/apply-graduated-truncation.ts";
export { buildForkPreamble, type ForkPreambleOptions } from "./fork/build-fork-preamble.ts";
export {
  breakEvenSteps,
  chooseForkWay,
  EXACT_VIEW_MAX_AGE_MS,
  EXPECTED_FORK_STEPS,
  type ForkWay,
  type ForkWayChoice,
  type ForkWayFacts,
} from "./fork/choose-fork-way.ts";
export { type ForkContext, forkContext } from "./fork/fork-context.ts";
export {
  FORK_CHAR_BUDGET,
  FORK_CHAR_NO_REMOVAL,
  FORK_NO_TRIM_THRESHOLD,
  type ForkOptions,
  type ForkProfile,
} from "./fork/fork-options.ts";
export { type FormattedContext, formatMessagesAsContext } from "./fork/format-messages-as-context.ts";
export { type ForkResult, processMessagesForFork } from "./fork/process-messages-for-fork.ts";
export type { ProcessingStats, TierDistribution } from "./fork/processing-stats.ts";
export { sliceFromCompactionBoundary } from "./fork/slice-from-compaction-boundary.ts";
export type { SentBeside } from "./session/context-meter.ts";
export {
  createSession,
  type EmptyAnswer,
  type PrepareOptions,
  type Session,
  type SessionStatus,
  type UndoResult,
} from "./session/create-session.ts";
export type { EditBatch } from "./session/edit-batch.ts";
export type {
  Journal,
  JournalAppended,
  JournalContent,
  JournalEntry,
  JournalFailure,
  JournalProblem,
} from "./session/journal.ts";
export type { LedgerEntry } from "./session/ledger.ts";
export type { Recalled, RecallRange, RecallRequest } from "./session/recall.ts";
export { maxCompactionRecoveries } from "./session/recovery-state.ts";
export type { Restored } from "./session/restore-from.ts";
export type { RunResult } from "./session/run-result.ts";
export type { GiveUpReason, IdleReason, SessionAction } from "./session/session-action.ts";
export type { SessionEvent } from "./session/session-event.ts";
export type { SessionOptions } from "./session/session-options.ts";
export type { SessionPorts } from "./session/session-ports.ts";
export type { SessionPruneOptions } from "./session/session-prune.ts";
export type { SessionState } from "./session/session-state.ts";
export type { Asked } from "./session/session-view.ts";
export { type CharBudgetOptions, charBudget } from "./stages/char-budget.ts";
export { compactionBoundary, findCompactionBoundary } from "./stages/compaction-boundary.ts";
export { filterCompacted } from "./stages/filter-compacted.ts";
export {
  FORK_NO_TRUNCATION_TOOLS,
  type GraduatedTiersOptions,
  graduatedTiers,
} from "./stages/graduated-tiers.ts";
export {
  KEEP_LINES_PROTECT_RESULTS,
  KEEP_LINES_PROTECTED_TOOLS,
  type KeepLinesOptions,
  keepLines,
} from "./stages/keep-lines.ts";
export { FORK_OWN_TOOLS, type OmitForChildOptions, omitForChild } from "./stages/omit-for-child.ts";
export {
  type CacheArithmetic,
  type EditPlan,
  type EditTally,
  type PlanEditsRequest,
  planEdits,
} from "./stages/plan-edits.ts";
export {
  CACHE_PROFILES,
  type CacheProfile,
  type CacheProfileName,
  cacheProfileFor,
} from "./stages/provider-cache-profiles.ts";
export {
  PRUNE_MINIMUM,
  PRUNE_PROTECT,
  type PruneCandidate,
  type PruneOptions,
  type PrunePlan,
  type PruneStop,
  prune,
  pruneStage,
} from "./stages/prune.ts";
export { PRUNE_PROTECT_TURNS, PRUNE_PROTECTED_TOOLS } from "./stages/prune-guard.ts";
export { restore } from "./stages/prune-restore.ts";
export { redactTranscript } from "./stages/redact-transcript.ts";
export { type RepairPairingOptions, repairPairing } from "./stages/repair-pairing.ts";
export { type SupersedeOptions, supersede } from "./stages/supersede.ts";
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
export { createMemoryJournal } from "./stores/memory/memory-journal.ts";
export { createMemoryRecordStore } from "./stores/memory/memory-record-store.ts";
export { createMemorySpillStore } from "./stores/memory/memory-spill-store.ts";
export { createSystemClock } from "./stores/system-clock.ts";
export type {
  RecordConflict,
  RecordCorrupt,
  RecordDeleted,
  RecordFailure,
  RecordFound,
  RecordList,
  RecordMissing,
  RecordProblem,
  RecordState,
  RecordStore,
  RecordStored,
  RecordWrite,
} from "./tasks/record-store.ts";
export { ConfigurationError } from "./text/configuration-error.ts";
export {
  type EstimateTokensOptions,
  estimateTokens,
  type TokenEstimator,
  type TokenRounding,
} from "./text/estimate-tokens.ts";
export { FENCED_TAGS, fence, fenceData } from "./text/fence.ts";
export {
  type NormalizedText,
  normalizeText,
  normalizeTextWithCounts,
  type RemovedCounts,
} from "./text/normalize-text.ts";
export {
  type RedactedText,
  type RedactOptions,
  redactSecrets,
  redactSecretsWithReport,
  type SecretRule,
} from "./text/redact-secrets.ts";
export {
  FORK_ERROR_PATTERNS,
  FORK_HEAD_TAIL_KEYWORDS,
  FORK_MORE_ERROR_PATTERNS,
  shouldUseHeadTail,
} from "./text/should-use-head-tail.ts";
export { type TokenFamily, tokenFamilyOf } from "./text/token-model-families.ts";
export { type Cut, FORK_HEAD_RATIO, FORK_TAIL_RATIO } from "./text/truncate.ts";
export { truncateWithStrategy } from "./text/truncate-with-strategy.ts";
export type { SpillFailure, SpillRef, SpillStore } from "./tool-output/spill-store.ts";
export type {
  BytesBlock,
  OtherBlock,
  TextBlock,
  ToolContentBlock,
} from "./tool-output/tool-content-block.ts";
export {
  DEFAULT_TOOL_OUTPUT_LIMITS,
  resolveToolOutputLimits,
  type ToolOutputLimits,
  type TruncateMode,
} from "./tool-output/tool-output-limits.ts";
export type { ToolOutputResult, ToolOutputStats, TruncatedBy } from "./tool-output/tool-output-result.ts";
export { type ToolOutputOptions, truncateToolContent } from "./tool-output/truncate-tool-content.ts";
export { type ApplyOptions, applyEdits } from "./transcript/apply-edits.ts";
export {
  type Anchor,
  type AnchorType,
  type CarriedFacts,
  readCarriedFacts,
} from "./transcript/carried-facts.ts";
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
export {
  type ContextEstimate,
  type ContextEstimateOptions,
  type ContextTally,
  createContextTally,
  estimateContextTokens,
} from "./transcript/estimate-context-tokens.ts";
export { estimateMessageTokens, type MessageEstimateOptions } from "./transcript/estimate-message-tokens.ts";
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
export {
  calibrate,
  startCalibration,
  type TokenCalibration,
  type TokenObservation,
} from "./transcript/token-calibration.ts";
export { type ToolCall, type ToolResult, toolResults } from "./transcript/tool-results.ts";
export { isVisibleToModel, isVisibleToUser, project, withMetadata } from "./transcript/visibility.ts";
