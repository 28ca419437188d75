export type { BlockFormat } from "./formats/blocks/create-block-format.ts";
export { anthropic } from "./formats/wires/anthropic/anthropic.ts";
export type {
  AnthropicMessage,
  AnthropicRequest,
  AnthropicWire,
} from "./formats/wires/anthropic/read-message.ts";
