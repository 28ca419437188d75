import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { findAnthropicFaults } from "../../../src/formats/wires/anthropic/find-faults.ts";
import { findGeminiFaults } from "../../../src/formats/wires/gemini/find-faults.ts";
import { findOpenAIChatFaults } from "../../../src/formats/wires/openai-chat/find-faults.ts";
import { findOpenAIResponsesFaults } from "../../../src/formats/wires/openai-responses/find-faults.ts";
import type { Fault } from "../../../src/transcript/format.ts";
import { type ModelServer, startModelServer } from "../../rig/model-server/model-server.ts";
import type { Reply } from "../../rig/model-server/step.ts";
import type { ThinkingMode } from "../../rig/model-server/thinking/thinking-rules.ts";
import { countAsModel, countRequest } from "./count-request.ts";
import { toolText } from "./tool-texts.ts";

/** The ways to a model that are tested. */
export const PROVIDERS = ["openai-compatible", "anthropic", "openai-responses", "openai-chat"] as const;
export type ProviderName = (typeof PROVIDERS)[number] | "gemini";

/** A model behind real HTTP that has a window, as real ones do, and a script for what it says. */
export interface ScriptedProvider {
  readonly server: ModelServer;
  /** The model as the AI SDK calls it. */
  model(name: ProviderName): ReturnType<ReturnType<typeof createOpenAICompatible>>;
  /** Requests that were longer than the window. */
  readonly refusals: () => number;
  /** The largest request that was accepted, in tokens. */
  readonly largestTokens: () => number;
  /** What any provider would have refused in any request. */
  readonly faults: () => readonly Fault[];
  stop(): Promise<void>;
}

export interface ScriptedProviderOptions {
  /** More tokens than this are refused; unset: everything is taken. */
  readonly windowTokens?: number;
  /** What is answered to a request with tools; by the script where it gives nothing. */
  readonly answer?: (request: AnsweredRequest) => Reply | undefined;
  /** What is answered to a request for a summary. */
  readonly summarize?: (request: AnsweredRequest) => Reply | undefined;
  readonly thinking?: ThinkingMode;
  /** Whose tokens are counted: those of one tokenizer for every model, or those of the model's own family. @default o200k */
  readonly countsAs?: "o200k" | "model";
}

export interface AnsweredRequest {
  /** Requests of this kind that were answered before. */
  readonly count: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Exact. */
  readonly inputTokens: number;
}

/** Starts one. */
export async function startScriptedProvider(
  options: ScriptedProviderOptions = {},
): Promise<ScriptedProvider> {
  const {
    windowTokens = Number.POSITIVE_INFINITY,
    answer,
    summarize = ({ count }) => summary(count),
    thinking = "bound",
    countsAs = "o200k",
  } = options;
  const faults: Fault[] = [];
  let refusals = 0;
  let largestTokens = 0;
  const counts = { answers: 0, summaries: 0 };
  const server = await startModelServer({
    thinking,
    judge({ wire, body }) {
      faults.push(...FIND_FAULTS[wire](body));
      const inputTokens = countsAs === "model" ? countAsModel(body) : countRequest(body);
      if (inputTokens > windowTokens) {
        refusals++;
        return tooLong(inputTokens, windowTokens);
      }
      largestTokens = Math.max(largestTokens, inputTokens);
      const isSummary = body.tools === undefined;
      const count = isSummary ? counts.summaries++ : counts.answers++;
      const reply = (isSummary ? summarize : answer)?.({ count, body, inputTokens });
      return reply?.type === "answer" && reply.usage === undefined
        ? { ...reply, usage: { inputTokens, outputTokens: 60 } }
        : reply;
    },
  });
  const settings = { baseURL: server.url, apiKey: "scripted" };
  const models = {
    "openai-compatible": () =>
      createOpenAICompatible({ name: "scripted", includeUsage: true, ...settings })("m"),
    anthropic: () => createAnthropic(settings)("claude-opus-5-5"),
    "openai-responses": () => createOpenAI(settings).responses("gpt-6.1-sol"),
    "openai-chat": () => createOpenAI(settings).chat("gpt-5"),
    gemini: () => createGoogleGenerativeAI(settings)("gemini-3-pro-preview"),
  } as const satisfies Record<ProviderName, unknown>;
  return {
    server,
    model: (name) => models[name](),
    refusals: () => refusals,
    largestTokens: () => largestTokens,
    faults: () => faults,
    stop: () => server.stop(),
  };
}

const FIND_FAULTS = {
  anthropic: (body) => findAnthropicFaults(body),
  "openai-chat": (body) => findOpenAIChatFaults(body),
  "openai-responses": (body) => findOpenAIResponsesFaults(body),
  gemini: (body) => findGeminiFaults(body),
} as const satisfies Record<string, (body: unknown) => readonly Fault[]>;

/** A summary that passes; every time another one, as models write them. */
export function summary(count: number): Reply {
  const seen = toolText(count + 1, 700);
  return { type: "answer", text: `## Goal\nRead every file.\n## Progress\n${seen}\n## Next steps\nRead on.` };
}

/** How a provider refuses what is too long. */
export function tooLong(inputTokens: number, windowTokens: number): Reply {
  const message = `prompt is too long: ${inputTokens} tokens > ${windowTokens} maximum`;
  const error = { message, type: "invalid_request_error", code: "context_length_exceeded" };
  return { type: "refusal", status: 400, body: { type: "error", error } };
}
