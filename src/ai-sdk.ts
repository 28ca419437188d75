export { type AiSdkFormat, aiSdk } from "./formats/wires/ai-sdk/ai-sdk.ts";
export type { AiSdkMessage, AiSdkWire } from "./formats/wires/ai-sdk/ai-sdk-message.ts";
export type {
  CompactMessagesOptions,
  CompactNowOptions,
  PrepareStep,
  StepToPrepare,
} from "./hosts/ai-sdk/carryover.ts";
export { type Carryover, carryover, compact } from "./hosts/ai-sdk/carryover.ts";
export type { CompactedMessages, CompactResult, UnchangedMessages } from "./hosts/ai-sdk/compact.ts";
export type { CompactedConversation } from "./hosts/ai-sdk/conversation.ts";
export { type AnswerFacts, answerFacts } from "./hosts/ai-sdk/conversation.ts";
export {
  createModelSummarizer,
  GiveUpError,
  type LanguageModelLike,
} from "./hosts/ai-sdk/language-model.ts";
export type { CarryoverOptions, CarryoverStore } from "./hosts/ai-sdk/open-conversation.ts";
export { createRecallTool, type RecallInput } from "./hosts/ai-sdk/recall-tool.ts";
export type { SummarizerChoice, SummarizerOption } from "./hosts/ai-sdk/summarizer.ts";
export type { PersistedDelta, Persistence } from "./session/persist.ts";
