export { anthropic } from "./formats/anthropic/anthropic.ts";
export type {
  AnthropicMessage,
  AnthropicRequest,
  AnthropicWire,
} from "./formats/anthropic/anthropic-wire.ts";
export type { BlockFormat } from "./formats/blocks/create-block-format.ts";
