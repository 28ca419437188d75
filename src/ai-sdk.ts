export { type AiSdkFormat, aiSdk } from "./formats/wires/ai-sdk/ai-sdk.ts";
export type { AiSdkMessage, AiSdkWire } from "./formats/wires/ai-sdk/ai-sdk-message.ts";
export {
  type Carryover,
  type CompactMessagesOptions,
  type CompactNowOptions,
  carryover,
  compact,
} from "./hosts/ai-sdk/carryover.ts";
export type { CompactedMessages, CompactResult, UnchangedMessages } from "./hosts/ai-sdk/compact.ts";
export type { CompactedConversation } from "./hosts/ai-sdk/hand-over.ts";
export type { CarryoverOptions, CarryoverStore } from "./hosts/ai-sdk/options.ts";
export type { PrepareStep, StepToPrepare } from "./hosts/ai-sdk/prepare-step.ts";
export { createRecallTool } from "./hosts/ai-sdk/recall-tool.ts";
export { type AnswerFacts, answerFacts } from "./middleware/answer.ts";
export type { LanguageModelLike } from "./middleware/language-model.ts";
export type { RecallInput } from "./middleware/recall-tool.ts";
export {
  createModelSummarizer,
  type SummarizerChoice,
  type SummarizerOption,
} from "./middleware/summarizer.ts";
export { GiveUpError } from "./middleware/wrap-model.ts";
export type { PersistedDelta, Persistence } from "./session/persist.ts";
