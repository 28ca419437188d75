export type { CompactingAnswer, CompactingInput, SessionHook } from "./compaction/ask-hooks.ts";
export type { CompactionTrigger } from "./compaction/plan/plan-compaction.ts";
export type {
  Clock,
  ProviderCompaction,
  ProviderCompactor,
  SummarizeOptions,
  Summarizer,
  SummarizerModel,
  SummaryRequest,
} from "./compaction/ports/summarizer.ts";
export type {
  ClassifyOptions,
  ErrorRecovery,
  ProviderErrorReport,
} from "./compaction/provider-errors/classify-provider-error.ts";
export { classifyProviderError } from "./compaction/provider-errors/doors.ts";
export type { ProviderErrorClass } from "./compaction/provider-errors/look-alikes.ts";
export type { RecoveryStep } from "./compaction/recover.ts";
export type { Representation } from "./compaction/summary/message.ts";
export type { Pin } from "./compaction/summary/pins.ts";
export type { CompactAt, Threshold } from "./compaction/trigger/compact-at.ts";
export {
  type CompactionSettings,
  DEFAULT_COMPACTION_SETTINGS,
  type GivenCompactionSettings,
  type ToolSummaryStrategy,
} from "./compaction/trigger/compaction-settings.ts";
export type { ModelLimits, OverflowSettings } from "./compaction/trigger/overflow.ts";
export {
  chooseInheritMode,
  type InheritChoice,
  type InheritFacts,
  type InheritMode,
} from "./fork/context/choose-inherit-mode.ts";
export type { ProcessingStats } from "./fork/context/format.ts";
export type { ForkOptions } from "./fork/context/options.ts";
export { type ForkContext, forkContext } from "./fork/fork.ts";
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
export { type CacheProfile, cacheProfile, NO_CACHE } from "./models/cache-profile.ts";
export { type ModelCache, type ModelFacts, type ModelLookup, modelFacts } from "./models/model-facts.ts";
export type {
  AfterEdit,
  CacheFacts,
  DatedPrices,
  LongPrompts,
  ModelRow,
  Resend,
} from "./models/model-row.ts";
export type {
  GiveUpReason,
  IdleReason,
  NextActionOptions,
  RunResult,
  SessionAction,
} from "./session/action.ts";
export type { SessionEvent } from "./session/events.ts";
export type { EditBatch } from "./session/history.ts";
export type {
  Journal,
  JournalAppended,
  JournalContent,
  JournalEntry,
  JournalFailure,
  JournalProblem,
} from "./session/journal.ts";
export type { LedgerEntry } from "./session/ledger.ts";
export type { PromptOverhead } from "./session/measure.ts";
export type {
  SessionOptions,
  SessionPorts,
  SessionProfile,
  SessionStage,
  ToolPolicies,
  ToolPolicy,
} from "./session/options.ts";
export type { PendingSummary } from "./session/pending-summaries.ts";
export type { Recalled, RecallRange, RecallRequest } from "./session/recall.ts";
export type { Restored } from "./session/restore.ts";
export {
  createSession,
  type EmptyAnswer,
  type PrepareOptions,
  type Session,
  type SessionStatus,
  type UndoResult,
} from "./session/session.ts";
export type { StoredState as SessionState } from "./session/stored-state.ts";
export type { ProviderManagement } from "./session/window.ts";
export { createMemoryJournal } from "./stores/memory/journal.ts";
export { createMemoryOutputStore } from "./stores/memory/output-store.ts";
export { createMemoryRecordStore } from "./stores/memory/record-store.ts";
export { createSystemClock } from "./stores/system-clock.ts";
export { ConfigurationError } from "./text/check.ts";
export { fence } from "./text/fence.ts";
export { normalizeText } from "./text/normalize.ts";
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
} from "./text/tokens/estimate-tokens.ts";
export { type TrimToolOutputOptions, trimToolOutput } from "./tool-output/doors.ts";
export {
  DEFAULT_TOOL_OUTPUT_LIMITS,
  type RawToolOutputLimits,
  type ToolOutputLimits,
  type TruncateMode,
} from "./tool-output/limits.ts";
export type { OutputFailure, OutputRef, OutputStore } from "./tool-output/output-store.ts";
export type { BytesBlock, OtherBlock, TextBlock, ToolContentBlock } from "./tool-output/read-blocks.ts";
export type { ToolOutputResult, TrimmedToolOutput } from "./tool-output/truncate-tool-content.ts";
export { renderMessage, type ToolResult, toolResults } from "./transcript/content.ts";
export {
  type ContextEstimateOptions,
  estimateContextTokens,
  estimateMessageTokens,
  type MessageEstimateOptions,
} from "./transcript/doors.ts";
export {
  applyEdits,
  type Edit,
  type EditReason,
  type HideMessage,
  type HidePart,
  type InsertMessage,
  type MoveMessage,
  type Omitted,
  type Position,
  type ReplacePart,
  runStages,
  type Stage,
  type StagesResult,
} from "./transcript/edit.ts";
export type { ContextEstimate } from "./transcript/estimate-context.ts";
export type { Fault, FaultRule, Format } from "./transcript/format.ts";
export {
  isVisibleToModel,
  isVisibleToUser,
  type Message,
  type MessageError,
  type MessageKind,
  type MessageMetadata,
  type ModelRef,
  project,
  type Role,
  type Transcript,
  type Usage,
} from "./transcript/message.ts";
export type {
  CallId,
  CompactionPart,
  FilePart,
  Handle,
  InputCut,
  MessageId,
  OpaquePart,
  Part,
  ProviderBlock,
  ReasoningPart,
  TextPart,
  ToolOutcome,
  ToolPart,
} from "./transcript/part.ts";
