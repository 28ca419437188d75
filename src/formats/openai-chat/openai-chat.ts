import { type BlockFormat, createBlockFormat } from "../blocks/create-block-format.ts";
import { findOpenAIChatFaults } from "./find-openai-chat-faults.ts";
import { openaiChatAdapter } from "./openai-chat-adapter.ts";
import type { ChatWire } from "./openai-chat-wire.ts";

/** Requests of a chat completions API, or their bare lists of messages. */
export const openaiChat: BlockFormat<ChatWire> = createBlockFormat(openaiChatAdapter, (wire) =>
  findOpenAIChatFaults(wire),
);
