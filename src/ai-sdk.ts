export { type AiSdkFormat, aiSdk } from "./formats/ai-sdk/ai-sdk.ts";
export type { AiSdkMessage, AiSdkWire } from "./formats/ai-sdk/ai-sdk-message.ts";
export { type Carryover, carryover } from "./hosts/ai-sdk/carryover.ts";
export type {
  CarryoverOptions,
  CarryoverStore,
  CompactedConversation,
} from "./hosts/ai-sdk/carryover-options.ts";
export { GiveUpError } from "./hosts/ai-sdk/give-up-error.ts";
export type { LanguageModelLike } from "./hosts/ai-sdk/language-model.ts";
export type { PrepareStep, StepToPrepare } from "./hosts/ai-sdk/prepare-step.ts";
export type { RecallInput } from "./hosts/ai-sdk/recall-tool.ts";
