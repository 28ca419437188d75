import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatOpenAI } from "@langchain/openai";
import { type DynamicStructuredTool, tool } from "langchain";
import { z } from "zod";
import type { ScriptedProvider } from "../ai-sdk/harness/scripted-provider.ts";

/** The ways from LangChain to a model that are tested. */
export const CHAT_MODELS = ["anthropic", "openai-chat", "openai-responses"] as const;
export type ChatModelName = (typeof CHAT_MODELS)[number];

/** A real chat model class whose requests go to a scripted provider on loopback. */
export function chatModel(
  { server }: ScriptedProvider,
  name: ChatModelName,
  fields: { readonly maxTokens?: number } = {},
): BaseChatModel {
  if (name === "anthropic") {
    const anthropicApiUrl = server.url.replace(/\/v1\/?$/, "");
    return new ChatAnthropic({
      model: "claude-opus-5-5",
      apiKey: "scripted",
      anthropicApiUrl,
      maxRetries: 0,
      ...fields,
    });
  }
  return new ChatOpenAI({
    model: name === "openai-responses" ? "gpt-6.1-sol" : "gpt-5",
    apiKey: "scripted",
    configuration: { baseURL: server.url },
    useResponsesApi: name === "openai-responses",
    maxRetries: 0,
    ...fields,
  });
}

/** A tool that reads a file whose content `contentOf` makes. */
export function readTool(contentOf: (path: string) => string): DynamicStructuredTool {
  return tool(async ({ path }: { path: string }) => contentOf(path), {
    name: "read",
    description: "Reads a file.",
    schema: z.object({ path: z.string() }),
  }) as unknown as DynamicStructuredTool;
}
