import { anthropic } from "../../formats/anthropic/anthropic.ts";
import { findAnthropicEditFaults } from "../../formats/anthropic/find-anthropic-edit-faults.ts";
import { findGeminiEditFaults } from "../../formats/gemini/find-gemini-edit-faults.ts";
import { gemini } from "../../formats/gemini/gemini.ts";
import { findOpenAIChatEditFaults } from "../../formats/openai-chat/find-openai-chat-edit-faults.ts";
import { openaiChat } from "../../formats/openai-chat/openai-chat.ts";
import { findOpenAIResponsesEditFaults } from "../../formats/openai-responses/find-openai-responses-edit-faults.ts";
import { openaiResponses } from "../../formats/openai-responses/openai-responses.ts";
import type { EditExpectation } from "../../formats/wire-faults/find-common-edit-faults.ts";
import type { Fault } from "../../transcript/find-faults.ts";
import type { Format } from "../../transcript/format.ts";
import type { History } from "./history.ts";
import { lowerToAnthropic } from "./lower-to-anthropic.ts";
import { lowerToGemini } from "./lower-to-gemini.ts";
import { lowerToOpenAIChat } from "./lower-to-openai-chat.ts";
import { lowerToOpenAIResponses } from "./lower-to-openai-responses.ts";

/** One provider's interface: how a history is written for it, how its wires are edited, and what an edit must keep. */
export interface ProviderCase {
  readonly api: string;
  readonly format: Format<unknown>;
  readonly lower: (history: History) => unknown;
  readonly findEditFaults: (before: unknown, after: unknown, expected?: EditExpectation) => readonly Fault[];
}

/** All interfaces that have rules. */
export const PROVIDER_CASES: readonly ProviderCase[] = [
  {
    api: "anthropic",
    format: anthropic as Format<unknown>,
    lower: lowerToAnthropic,
    findEditFaults: findAnthropicEditFaults,
  },
  {
    api: "openai-chat",
    format: openaiChat as Format<unknown>,
    lower: lowerToOpenAIChat,
    findEditFaults: findOpenAIChatEditFaults,
  },
  {
    api: "openai-responses",
    format: openaiResponses as Format<unknown>,
    lower: lowerToOpenAIResponses,
    findEditFaults: findOpenAIResponsesEditFaults,
  },
  {
    api: "gemini",
    format: gemini as Format<unknown>,
    lower: lowerToGemini,
    findEditFaults: findGeminiEditFaults,
  },
];
