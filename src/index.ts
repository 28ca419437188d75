export type { CompactingAnswer, CompactingInput, SessionHook } from "./compaction/ask.ts";
export type {
  Compacted,
  CompactionEnd,
  CompactionEvent,
  CompactionStart,
  CompactOutcome,
  NotCompacted,
  NotCompactedReason,
} from "./compaction/compact.ts";
export { type CompactOptions, type CompactPorts, compact } from "./compaction/compact.ts";
export type {
  CompactionInput,
  CompactionPlan,
  CompactionTrigger,
  NothingToCompact,
  SummarizerModel,
} from "./compaction/plan/plan-compaction.ts";
export { planCompaction } from "./compaction/plan/plan-compaction.ts";
export type { Clock } from "./compaction/ports/clock.ts";
export type { SummarizeOptions, Summarizer, SummaryRequest } from "./compaction/ports/summarizer.ts";
export {
  type ClassifyOptions,
  classifyProviderError,
  type ErrorRecovery,
  isContextLengthExceeded,
  type ProviderErrorReport,
} from "./compaction/provider-errors/classify-provider-error.ts";
export type { ProviderErrorClass } from "./compaction/provider-errors/look-alikes.ts";
export {
  planRecovery,
  RECOVERY_LADDER,
  type RecoveryPlan,
  type RecoveryRequest,
  type RecoveryRung,
} from "./compaction/recover/plan-recovery.ts";
export type { Pin } from "./compaction/summary/facts.ts";
export { toolResultKind } from "./compaction/summary/facts.ts";
export type { Representation } from "./compaction/summary/message.ts";
export type { SecretRedaction } from "./compaction/summary/text.ts";
export {
  compactToolResultsInRecent,
  type RecentResultsOptions,
} from "./compaction/tool-summaries/edits.ts";
export {
  type MaybeSummarizeOptions,
  maybeSummarizeToolResults,
  type SummarizedToolResults,
} from "./compaction/tool-summaries/maybe-summarize-tool-results.ts";
export type {
  ToolSummaryMode,
  ToolSummarySettings,
} from "./compaction/tool-summaries/plan-tool-summaries.ts";
export {
  planToolSummaries,
  type ToolSummaryBatch,
  type ToolSummaryPlan,
} from "./compaction/tool-summaries/plan-tool-summaries.ts";
export {
  type ChangedSettings,
  type CompactionSettings,
  changeSettings,
  DEFAULT_COMPACTION_SETTINGS,
  DEFAULT_OVERFLOW_SETTINGS,
  effectiveKeepRecentTokens,
  effectiveTokenLimit,
  learnContextLimit,
  type ModelLimits,
  type ModelWindow,
  OUTPUT_TOKEN_MAX,
  type OverflowFormula,
  type OverflowSettings,
  readOutputCap,
  type SettingsChange,
  type Threshold,
  TOOL_SUMMARY_STRATEGIES,
  type TokenLimit,
  type ToolSummaryStrategy,
  thresholdKey,
  usableTokens,
} from "./compaction/trigger/limits.ts";
export {
  checkOverflow,
  detectSilentOverflow,
  isOverflow,
  type ModelAnswer,
  type OverflowAnswer,
  type OverflowCheck,
  type OverflowQuestion,
  type OverflowReason,
  type ReadUsageOptions,
  readUsage,
  type SilentOverflow,
  type SilentReason,
} from "./compaction/trigger/overflow.ts";
export {
  afterCompaction,
  afterContextChange,
  type CompactDecision,
  type CompactionGain,
  type CompactReason,
  FRESH_TRIGGER,
  type Situation,
  shouldCompact,
  type TriggerState,
  type TriggerStatus,
  type TriggerUpdate,
  triggerStatus,
} from "./compaction/trigger/should-compact.ts";
export {
  breakEvenSteps,
  chooseForkWay,
  EXACT_VIEW_MAX_AGE_MS,
  EXPECTED_FORK_STEPS,
  type ForkWay,
  type ForkWayChoice,
  type ForkWayFacts,
} from "./fork/context/choose-way.ts";
export { type FormattedContext, formatMessagesAsContext } from "./fork/context/format.ts";
export { FORK_OWN_TOOLS, type OmitForChildOptions, omitForChild } from "./fork/context/omit.ts";
export {
  FORK_CHAR_BUDGET,
  FORK_CHAR_NO_REMOVAL,
  FORK_NO_TRIM_THRESHOLD,
  type ForkOptions,
  type ForkProfile,
} from "./fork/context/options.ts";
export { buildForkPreamble, type ForkPreambleOptions } from "./fork/context/preamble.ts";
export type { ProcessingStats, TierDistribution } from "./fork/context/stats.ts";
export {
  applyGraduatedTruncation,
  type ForkContext,
  type ForkResult,
  forkContext,
  processMessagesForFork,
  sliceFromCompactionBoundary,
} from "./fork/fork.ts";
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
} from "./fork/life/record-store.ts";
export type { GiveUpReason, IdleReason, RunResult, SessionAction } from "./session/action.ts";
export type { PromptOverhead } from "./session/context-meter.ts";
export type { EditBatch } from "./session/history.ts";
export type {
  Journal,
  JournalAppended,
  JournalContent,
  JournalEntry,
  JournalFailure,
  JournalProblem,
} from "./session/journal.ts";
export type { LedgerEntry, SessionEvent, SessionState } from "./session/log.ts";
export type { NextActionOptions } from "./session/next-action.ts";
export type { SessionOptions, SessionPorts } from "./session/options.ts";
export type { SessionPruneOptions } from "./session/prune.ts";
export type { Recalled, RecallRange, RecallRequest } from "./session/recall.ts";
export { maxCompactionRecoveries } from "./session/recovery.ts";
export type { Restored } from "./session/session.ts";
export {
  createSession,
  type EmptyAnswer,
  type PrepareOptions,
  type Session,
  type SessionStatus,
  type UndoResult,
} from "./session/session.ts";
export { compactionBoundary, filterCompacted, findCompactionBoundary } from "./stages/boundary.ts";
export { type CharBudgetOptions, charBudget } from "./stages/budget.ts";
export {
  type CacheArithmetic,
  type EditPlan,
  type EditTally,
  type PlanEditsRequest,
  planEdits,
} from "./stages/cache-plan.ts";
export {
  CACHE_PROFILES,
  type CacheProfile,
  type CacheProfileName,
  cacheProfileFor,
} from "./stages/cache-profiles.ts";
export {
  KEEP_LINES_PROTECT_RESULTS,
  KEEP_LINES_PROTECTED_TOOLS,
  type KeepLinesOptions,
  keepLines,
} from "./stages/lines/keep-lines.ts";
export {
  PRUNE_MINIMUM,
  PRUNE_PROTECT,
  PRUNE_PROTECT_TURNS,
  PRUNE_PROTECTED_TOOLS,
  type PruneCandidate,
  type PruneOptions,
  type PrunePlan,
  type PruneStop,
  prune,
  pruneStage,
  restore,
} from "./stages/prune.ts";
export { redactTranscript } from "./stages/redact.ts";
export { type RepairPairingOptions, repairPairing } from "./stages/repair.ts";
export { type SupersedeOptions, supersede } from "./stages/supersede.ts";
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
  type GraduatedTiersOptions,
  getToolResultTier,
  graduatedTiers,
  type Tier,
  type TierLimits,
} from "./stages/tiers.ts";
export { createMemoryJournal, createMemoryRecordStore, createMemorySpillStore } from "./stores/memory.ts";
export { createSystemClock } from "./stores/system-clock.ts";
export { ConfigurationError } from "./text/check.ts";
export { FENCED_TAGS, fence, fenceData } from "./text/fence.ts";
export {
  type NormalizedText,
  normalizeText,
  normalizeTextWithCounts,
  type RemovedCounts,
} from "./text/normalize.ts";
export {
  type RedactedText,
  type RedactOptions,
  redactSecrets,
  redactSecretsWithReport,
  type SecretRule,
} from "./text/secrets/redact-secrets.ts";
export {
  type EstimateTokensOptions,
  estimateTokens,
  type TokenEstimator,
  type TokenFamily,
  type TokenRounding,
  tokenFamilyOf,
} from "./text/tokens/estimate-tokens.ts";
export {
  type Cut,
  FORK_ERROR_PATTERNS,
  FORK_HEAD_RATIO,
  FORK_HEAD_TAIL_KEYWORDS,
  FORK_MORE_ERROR_PATTERNS,
  FORK_TAIL_RATIO,
  shouldUseHeadTail,
  truncateWithStrategy,
} from "./text/truncate.ts";
export type { ToolOutputResult, ToolOutputStats, TruncatedBy } from "./tool-output/cut-text.ts";
export {
  DEFAULT_TOOL_OUTPUT_LIMITS,
  resolveToolOutputLimits,
  type ToolOutputLimits,
  type TruncateMode,
} from "./tool-output/limits.ts";
export type {
  BytesBlock,
  OtherBlock,
  TextBlock,
  ToolContentBlock,
} from "./tool-output/read-blocks.ts";
export type { SpillFailure, SpillRef, SpillStore } from "./tool-output/spill.ts";
export { type ToolOutputOptions, truncateToolContent } from "./tool-output/truncate-tool-content.ts";
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
  Position,
  ReplacePart,
  Stage,
} from "./transcript/edit.ts";
export { type ApplyOptions, applyEdits, runStages, type StagesResult } from "./transcript/edit.ts";
export {
  type ContextEstimate,
  type ContextEstimateOptions,
  type ContextTally,
  createContextTally,
  estimateContextTokens,
} from "./transcript/estimate-context.ts";
export {
  calibrate,
  estimateMessageTokens,
  type MessageEstimateOptions,
  startCalibration,
  type TokenCalibration,
  type TokenObservation,
} from "./transcript/estimate-message.ts";
export type { Format } from "./transcript/format.ts";
export { type Fault, type FaultRule, findFaults } from "./transcript/format.ts";
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
export { isVisibleToModel, isVisibleToUser, project, withMetadata } from "./transcript/message.ts";
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
export { type ToolCall, type ToolResult, toolResults } from "./transcript/tool-results.ts";
