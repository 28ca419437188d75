import { generateText, type ModelMessage, streamText } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { carryover } from "../../src/ai-sdk.ts";
import { longConversation } from "./harness/conversation.ts";
import { type ScriptedProvider, startScriptedProvider } from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

let provider: ScriptedProvider | undefined;
const globals = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown };
afterEach(async () => {
  globals.AI_SDK_DEFAULT_PROVIDER = undefined;
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  await provider?.stop();
  provider = undefined;
});

describe("a model by its name", () => {
  it("is the one of the global default provider, as generateText would ask it", async () => {
    provider = await startScriptedProvider({ answer: () => ({ type: "answer", text: "Here." }) });
    const asked: string[] = [];
    const base = provider.model("anthropic");
    globals.AI_SDK_DEFAULT_PROVIDER = {
      specificationVersion: base.specificationVersion,
      languageModel(name: string) {
        asked.push(name);
        return base;
      },
    };
    const { model, session } = carryover("anthropic/claude-sonnet-4-5");
    expect((await generateText({ model, prompt: "Where?", tools: { read } })).text).toBe("Here.");
    expect(asked).toEqual(["anthropic/claude-sonnet-4-5"]);
    expect([model.provider, model.modelId]).toEqual([base.provider, base.modelId]);
    expect(session.status().contextWindowTokens).toBeGreaterThan(0);
  });

  it("may be set before there is a provider", async () => {
    provider = await startScriptedProvider({ answer: () => ({ type: "answer", text: "Here." }) });
    const { model, session } = carryover("xai/grok-4");
    expect(session.status().contextWindowTokens).toBe(256_000);
    const base = provider.model("openai-compatible");
    globals.AI_SDK_DEFAULT_PROVIDER = {
      specificationVersion: base.specificationVersion,
      languageModel: () => base,
    };
    expect(await streamText({ model, prompt: "Where?", tools: { read } }).text).toBe("Here.");
  });

  it("may be who writes summaries", async () => {
    provider = await startScriptedProvider({
      windowTokens: 20_000,
      answer: () => ({ type: "answer", text: "Module 15." }),
    });
    const base = provider.model("openai-compatible");
    const asked: string[] = [];
    globals.AI_SDK_DEFAULT_PROVIDER = {
      specificationVersion: base.specificationVersion,
      languageModel(name: string) {
        asked.push(name);
        return base;
      },
    };
    const { model, session } = carryover(base, {
      limits: { contextTokens: 20_000, outputTokens: 2_000 },
      // By default this conversation is pruned and needs no summary (summarizer.test.ts).
      prune: "off",
      summarizer: "anthropic/claude-haiku-4-5",
    });
    const messages: ModelMessage[] = [
      ...longConversation({ turns: 16, outputBytes: 6_000 }),
      { role: "user", content: "Which module was the last one?" },
    ];
    await generateText({ model, messages, tools: { read } });
    expect(asked).toEqual(["anthropic/claude-haiku-4-5"]);
    expect(session.ledger().map(({ step, degraded }) => [step, degraded])).toEqual([["compact", undefined]]);
  });

  it("is asked through the gateway where there is no default provider, with files as the gateway takes them", async () => {
    const sent: { readonly url: string; readonly headers: Headers; readonly body: string }[] = [];
    vi.stubEnv("AI_GATEWAY_API_KEY", "key");
    vi.stubGlobal("fetch", async (url: unknown, init: RequestInit) => {
      sent.push({ url: String(url), headers: new Headers(init.headers), body: String(init.body) });
      return Response.json({
        content: [
          { type: "text", text: "A dot." },
          { type: "file", mediaType: "image/png", data: fileOf(init) },
        ],
        finishReason: { unified: "stop", raw: "stop" },
        usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } },
        warnings: [],
      });
    });
    const ask = async (model: Parameters<typeof generateText>[0]["model"]) =>
      generateText({
        model,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
            ],
          },
        ],
      });
    const bare = await ask("openai/gpt-5");
    const wrapped = await ask(carryover("openai/gpt-5").model);
    expect(wrapped.text).toBe("A dot.");
    expect(wrapped.files.map(({ base64 }) => base64)).toEqual(bare.files.map(({ base64 }) => base64));
    expect(sent).toHaveLength(2);
    expect(sent[1]?.url).toBe(sent[0]?.url);
    expect(sent[1]?.headers.get("ai-language-model-id")).toBe("openai/gpt-5");
    expect(JSON.parse(sent[1]?.body ?? "")).toEqual(JSON.parse(sent[0]?.body ?? ""));
  });
});

/** A file in the form that the caller's version of the gateway writes. */
function fileOf(init: RequestInit): unknown {
  const isVersion4 = new Headers(init.headers).get("ai-language-model-specification-version") === "4";
  return isVersion4 ? { type: "data", data: "iVBORw0KGgo=" } : "iVBORw0KGgo=";
}
