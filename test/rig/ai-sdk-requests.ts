import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type LanguageModel, type ModelMessage } from "ai";
import { findAnthropicFaults } from "../../src/formats/wires/anthropic/find-faults.ts";
import { findGeminiFaults } from "../../src/formats/wires/gemini/find-faults.ts";
import { findOpenAIChatFaults } from "../../src/formats/wires/openai-chat/find-faults.ts";
import { findOpenAIResponsesFaults } from "../../src/formats/wires/openai-responses/find-faults.ts";
import type { Fault } from "../../src/transcript/format.ts";

/** The body that a provider of the AI SDK sends for some messages; nothing leaves the machine. */
export async function recordRequest(api: RecordedApi, request: RecordedRequest): Promise<unknown> {
  let body: unknown;
  const fetch = async (_: unknown, init?: { readonly body?: unknown }): Promise<Response> => {
    body = JSON.parse(String(init?.body));
    return new Response("{}", { status: 400 });
  };
  const model = MODELS[api]({ apiKey: "none", fetch: fetch as typeof globalThis.fetch });
  await generateText({ model, maxRetries: 0, ...request } as Parameters<typeof generateText>[0]).catch(
    () => {},
  );
  if (body === undefined) throw new Error(`the ${api} provider sent nothing`);
  return body;
}

export interface RecordedRequest {
  readonly system?: string;
  readonly messages: readonly ModelMessage[];
  readonly allowSystemInMessages?: boolean;
  readonly providerOptions?: Readonly<Record<string, unknown>>;
}

/** A model of the AI SDK whose provider is a function: what it answers to the body of each request. Nothing leaves the machine. */
export function modelOf(api: RecordedApi, answer: (body: unknown) => CannedAnswer): LanguageModel {
  const fetch = async (_: unknown, init?: { readonly body?: unknown }): Promise<Response> =>
    Response.json(ANSWERS[api](answer(JSON.parse(String(init?.body)))));
  return MODELS[api]({ apiKey: "none", fetch: fetch as typeof globalThis.fetch });
}

export interface CannedAnswer {
  readonly text: string;
  readonly inputTokens: number;
}

const ANSWERS: Record<RecordedApi, (answer: CannedAnswer) => unknown> = {
  anthropic: ({ text, inputTokens }) => ({
    type: "message",
    id: "msg_1",
    model: "claude-sonnet-4-5",
    role: "assistant",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { input_tokens: inputTokens, output_tokens: 20 },
  }),
  "openai-chat": ({ text, inputTokens }) => ({
    id: "chat_1",
    object: "chat.completion",
    created: 1,
    model: "gpt-4.1",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: inputTokens, completion_tokens: 20, total_tokens: inputTokens + 20 },
  }),
  "openai-responses": ({ text, inputTokens }) => ({
    id: "resp_1",
    created_at: 1,
    model: "gpt-5",
    output: [
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        content: [{ type: "output_text", text, annotations: [] }],
      },
    ],
    usage: { input_tokens: inputTokens, output_tokens: 20 },
  }),
  gemini: ({ text, inputTokens }) => ({
    candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP" }],
    usageMetadata: {
      promptTokenCount: inputTokens,
      candidatesTokenCount: 20,
      totalTokenCount: inputTokens + 20,
    },
  }),
};

interface ProviderSettings {
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
}

const MODELS = {
  anthropic: (settings: ProviderSettings): LanguageModel => createAnthropic(settings)("claude-sonnet-4-5"),
  "openai-chat": (settings: ProviderSettings): LanguageModel => createOpenAI(settings).chat("gpt-4.1"),
  "openai-responses": (settings: ProviderSettings): LanguageModel =>
    createOpenAI(settings).responses("gpt-5"),
  gemini: (settings: ProviderSettings): LanguageModel => createGoogleGenerativeAI(settings)("gemini-2.5-pro"),
} as const;

/** The APIs whose requests can be recorded. */
export type RecordedApi = keyof typeof MODELS;
export const RECORDED_APIS = Object.keys(MODELS) as readonly RecordedApi[];

/** What the API would refuse in the body of a request. */
export function findApiFaults(api: RecordedApi, body: unknown): readonly Fault[] {
  return FIND_FAULTS[api](body);
}

const FIND_FAULTS: Record<RecordedApi, (body: unknown) => readonly Fault[]> = {
  anthropic: (body) => findAnthropicFaults(body),
  "openai-chat": (body) => findOpenAIChatFaults(body),
  "openai-responses": (body) => findOpenAIResponsesFaults(body),
  gemini: (body) => findGeminiFaults(body),
};

/** A conversation with everything that occurs: thinking, parallel calls, a failed one, images, a long output. */
export const CONVERSATION: readonly ModelMessage[] = [
  {
    role: "user",
    content: [
      { type: "text", text: "What is in this picture, and is the port free?" },
      { type: "image", image: "iVBORw0KGgo=", mediaType: "image/png" },
    ],
  },
  {
    role: "assistant",
    content: [
      {
        type: "reasoning",
        text: "I look at the files first.",
        providerOptions: {
          anthropic: { signature: "c2lnbmVk" },
          openai: { itemId: "rs_1", reasoningEncryptedContent: "c2VhbGVk" },
          google: { thoughtSignature: "dGhvdWdodA==" },
        },
      },
      { type: "text", text: "Looking.", providerOptions: { openai: { itemId: "msg_1" } } },
      {
        type: "tool-call",
        toolCallId: "call_a1",
        toolName: "read",
        input: { filePath: "src/a.ts" },
        providerOptions: { openai: { itemId: "fc_1" }, google: { thoughtSignature: "Y2FsbA==" } },
      },
      {
        type: "tool-call",
        toolCallId: "call_a2",
        toolName: "bash",
        input: { command: "ss -ltn" },
        providerOptions: { openai: { itemId: "fc_2" } },
      },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "call_a1",
        toolName: "read",
        output: { type: "text", value: "export const port = 8080;\n".repeat(200) },
      },
      {
        type: "tool-result",
        toolCallId: "call_a2",
        toolName: "bash",
        output: { type: "error-text", value: "ss: command not found" },
      },
    ],
  },
  {
    role: "assistant",
    content: [
      {
        type: "reasoning",
        text: "A picture tells more.",
        providerOptions: { anthropic: { signature: "c2lnbmVkMw==" } },
      },
      {
        type: "tool-call",
        toolCallId: "call_b1",
        toolName: "screenshot",
        input: {},
        providerOptions: { google: { thoughtSignature: "c2hvdA==" } },
      },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "call_b1",
        toolName: "screenshot",
        output: {
          type: "content",
          value: [
            { type: "text", text: "the terminal" },
            { type: "media", data: "iVBORw0KGgoAAAA=", mediaType: "image/png" },
          ],
        },
      },
    ],
  },
  { role: "assistant", content: [{ type: "text", text: "It is free." }] },
  {
    role: "user",
    content: [{ type: "text", text: "Start it there with token ghp_0123456789abcdefghijABCDEFGHIJ012345." }],
  },
  {
    role: "assistant",
    content: [
      {
        type: "reasoning",
        text: "Now I start it.",
        providerOptions: {
          anthropic: { signature: "c2lnbmVkMg==" },
          openai: { itemId: "rs_2", reasoningEncryptedContent: "c2VhbGVkMg==" },
        },
      },
      {
        type: "tool-call",
        toolCallId: "call_c1",
        toolName: "bash",
        input: { command: "npm start" },
        providerOptions: { openai: { itemId: "fc_3" }, google: { thoughtSignature: "c3RhcnQ=" } },
      },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "call_c1",
        toolName: "bash",
        output: { type: "text", value: "listening on 8080" },
      },
    ],
  },
];
