import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { ToolSet } from "ai";
import type { LanguageModelLike } from "../../../src/middleware/language-model.ts";
import type { RecordedApi } from "../../rig/ai-sdk-requests.ts";

/** How a provider of the AI SDK is reached: by HTTP, or by a function in its place. */
export interface Connection {
  readonly baseURL: string;
  readonly fetch?: typeof globalThis.fetch;
}

/** A real provider package in front of the scripted model, as an application would set it up. */
export interface StrictModel {
  readonly model: LanguageModelLike;
  /** The tools that the provider runs itself. */
  readonly tools: ToolSet;
  readonly providerOptions: Readonly<Record<string, Readonly<Record<string, never>>>>;
}

interface Settings {
  readonly isThinking: boolean;
  readonly isStored: boolean;
}

/** The model of an API; with thinking one that thinks. */
export function strictModel(api: RecordedApi, connection: Connection, settings: Settings): StrictModel {
  const {
    model,
    tools = {},
    providerOptions = {},
  } = MODELS[api]({ apiKey: "none", ...connection }, settings);
  return {
    model,
    tools: tools as ToolSet,
    providerOptions: providerOptions as StrictModel["providerOptions"],
  };
}

interface Made {
  readonly model: LanguageModelLike;
  readonly tools?: Readonly<Record<string, unknown>>;
  readonly providerOptions?: unknown;
}

type Make = (connection: Connection & { readonly apiKey: string }, settings: Settings) => Made;

const MODELS: Readonly<Record<RecordedApi, Make>> = {
  anthropic(connection, { isThinking }) {
    const anthropic = createAnthropic(connection);
    return {
      model: anthropic("claude-opus-5-5"),
      tools: { web_search: anthropic.tools.webSearch_20250305() },
      providerOptions: isThinking
        ? { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } }
        : {},
    };
  },
  "openai-chat": (connection, { isThinking }) => ({
    model: isThinking
      ? createOpenAICompatible({ name: "deepseek", includeUsage: true, ...connection })("deepseek-v4-pro")
      : createOpenAI(connection).chat("gpt-4.1"),
  }),
  "openai-responses"(connection, { isThinking, isStored }) {
    const openai = createOpenAI(connection);
    return {
      model: openai.responses(isThinking ? "gpt-6.1-sol" : "gpt-4.1"),
      tools: { web_search: openai.tools.webSearch(), code_interpreter: openai.tools.codeInterpreter() },
      providerOptions: { openai: { store: isStored } },
    };
  },
  gemini: (connection, { isThinking }) => ({
    model: createGoogleGenerativeAI(connection)(isThinking ? "gemini-3-pro-preview" : "gemini-2.5-pro"),
  }),
};
