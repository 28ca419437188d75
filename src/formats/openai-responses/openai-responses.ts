import { type BlockFormat, createBlockFormat } from "../blocks/create-block-format.ts";
import { findOpenAIResponsesFaults } from "./find-openai-responses-faults.ts";
import { openaiResponsesAdapter } from "./openai-responses-adapter.ts";
import type { ResponsesWire } from "./openai-responses-wire.ts";

/** Requests of OpenAI's Responses API, or their bare lists of input items. */
export const openaiResponses: BlockFormat<ResponsesWire> = createBlockFormat(openaiResponsesAdapter, (wire) =>
  findOpenAIResponsesFaults(wire),
);
