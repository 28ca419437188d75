export { type AiSdkFormat, aiSdk } from "./formats/wires/ai-sdk/ai-sdk.ts";
export type { AiSdkMessage, AiSdkWire } from "./formats/wires/ai-sdk/ai-sdk-message.ts";
export type {
  CarryoverOptions,
  CarryoverStore,
  CompactedConversation,
} from "./hosts/ai-sdk/carryover.ts";
export { type Carryover, carryover } from "./hosts/ai-sdk/carryover.ts";
export type { PrepareStep, StepToPrepare } from "./hosts/ai-sdk/conversation.ts";
export { GiveUpError } from "./hosts/ai-sdk/conversation.ts";
export type { LanguageModelLike } from "./hosts/ai-sdk/language-model.ts";
export type { RecallInput } from "./hosts/ai-sdk/recall-tool.ts";
