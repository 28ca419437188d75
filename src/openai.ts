export type { BlockFormat } from "./formats/blocks/create-block-format.ts";
export { openaiChat } from "./formats/openai-chat/openai-chat.ts";
export type { ChatMessage, ChatRequest, ChatWire } from "./formats/openai-chat/openai-chat-wire.ts";
export { openaiResponses } from "./formats/openai-responses/openai-responses.ts";
export type {
  ResponsesItem,
  ResponsesRequest,
  ResponsesWire,
} from "./formats/openai-responses/openai-responses-wire.ts";
