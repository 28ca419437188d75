import { type BlockFormat, createBlockFormat } from "../blocks/create-block-format.ts";
import { anthropicAdapter } from "./anthropic-adapter.ts";
import type { AnthropicWire } from "./anthropic-wire.ts";
import { findAnthropicFaults } from "./find-anthropic-faults.ts";

/** Requests of Anthropic's Messages API, or their bare lists of messages. */
export const anthropic: BlockFormat<AnthropicWire> = createBlockFormat(anthropicAdapter, (wire) =>
  findAnthropicFaults(wire),
);
