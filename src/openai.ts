export type { BlockFormat } from "./formats/blocks/create-block-format.ts";
export type { ChatMessage, ChatRequest, ChatWire } from "./formats/wires/openai-chat/openai-chat.ts";
export { openaiChat } from "./formats/wires/openai-chat/openai-chat.ts";
export { openaiResponses } from "./formats/wires/openai-responses/openai-responses.ts";
export type {
  ResponsesItem,
  ResponsesRequest,
  ResponsesWire,
} from "./formats/wires/openai-responses/responses-run.ts";
