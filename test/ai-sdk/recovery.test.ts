import { generateText, type ModelMessage, streamText } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { carryover, GiveUpError } from "../../src/ai-sdk.ts";
import { type Reply, refuseLengthInStream } from "../rig/model-server/step.ts";
import { longConversation } from "./harness/conversation.ts";
import {
  PROVIDERS,
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
  tooLong,
} from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

let provider: ScriptedProvider;
afterEach(() => provider.stop());

const QUESTION: ModelMessage = { role: "user", content: "Which module was the last one?" };
const messages = [...longConversation({ turns: 12, outputBytes: 6_000 }), QUESTION];
/** What the card of the model says; the real window is a quarter of it. */
const limits = { contextTokens: 64_000, outputTokens: 2_000 };
const DONE: Reply = { type: "answer", text: "Module 11." };

async function start(options: ScriptedProviderOptions): Promise<void> {
  provider = await startScriptedProvider(options);
}

describe.each(PROVIDERS)("a request that is too long for %s", (name) => {
  it("is made smaller and sent again when the provider refuses it in the body", async () => {
    await start({ windowTokens: 16_000, answer: () => DONE });
    const { model, session } = carryover(provider.model(name), { limits });
    const { text } = await generateText({ model, messages, tools: { read }, maxRetries: 0 });
    expect(text).toBe("Module 11.");
    expect(provider.refusals()).toBe(1);
    expect(provider.faults()).toEqual([]);
    expect(JSON.stringify(provider.server.requests.at(-1)?.body)).toContain("Which module was the last one?");
    expect(session.status().contextWindowTokens).toBe(16_000);
  });

  it("is made smaller and sent again when the refusal comes in the stream", async () => {
    const { reply: refusal } = refuseLengthInStream();
    await start({ answer: ({ count }) => (count === 0 ? refusal : DONE) });
    const { model } = carryover(provider.model(name), { limits });
    const errors: unknown[] = [];
    const result = streamText({
      model,
      messages,
      tools: { read },
      onError: ({ error }) => void errors.push(error),
    });
    expect(await result.text).toBe("Module 11.");
    expect(errors).toEqual([]);
    const [first, last] = sizes();
    expect(last).toBeLessThan(first ?? 0);
    expect(provider.faults()).toEqual([]);
  });

  it.each(["generate", "stream"] as const)(
    "is made smaller and sent again when the answer is silence: %s",
    async (way) => {
      // The prompt fills the window, nothing is said, and nobody calls it an error.
      const nothing: Reply = {
        type: "answer",
        finish: LENGTH_FINISH[name],
        usage: { inputTokens: 64_000, outputTokens: 0 },
      };
      await start({ answer: ({ count }) => (count === 0 ? nothing : DONE) });
      const { model } = carryover(provider.model(name), { limits });
      const request = { model, messages, tools: { read }, maxRetries: 0 };
      const text = way === "stream" ? await streamText(request).text : (await generateText(request)).text;
      expect(text).toBe("Module 11.");
      const [first, last] = sizes();
      expect(last).toBeLessThan(first ?? 0);
    },
  );
});

describe("a request that is refused for something else than its text", () => {
  it("asks for a shorter answer when that is all that does not fit", async () => {
    const message =
      "input length and `max_tokens` exceed context limit: 40000 + 64000 > 64000, decrease input length or `max_tokens` and try again";
    const error = { type: "error", error: { type: "invalid_request_error", message } };
    await start({
      answer: ({ count }) => (count === 0 ? { type: "refusal", status: 400, body: error } : DONE),
    });
    const { model, session } = carryover(provider.model("anthropic"), { limits });
    expect((await generateText({ model, messages, tools: { read } })).text).toBe("Module 11.");
    const [first, last] = provider.server.requests.map(({ body }) => body);
    expect(last?.messages).toEqual(first?.messages);
    expect(last?.max_tokens).toBe(21_600);
    expect(session.ledger()).toEqual([]);
  });

  it("goes without its oldest pictures when it has too many bytes", async () => {
    await start({
      answer: ({ count }) =>
        count === 0
          ? { type: "refusal", status: 413, body: { error: { message: "Request exceeds the maximum size" } } }
          : DONE,
    });
    const picture = (name: string): ModelMessage => ({
      role: "user",
      content: [
        { type: "text", text: `This is ${name}.` },
        { type: "image", image: "iVBORw0KGgo=", mediaType: "image/png" },
      ],
    });
    const { model } = carryover(provider.model("openai-compatible"), { limits });
    const seen = ["one", "two", "three"].flatMap((name): ModelMessage[] => [
      picture(name),
      { role: "assistant", content: `I see ${name}.` },
    ]);
    const last: ModelMessage = { role: "user", content: "Which was the first?" };
    expect((await generateText({ model, messages: [...seen, last], tools: { read } })).text).toBe(
      "Module 11.",
    );
    const pictures = provider.server.requests.map(
      ({ body }) => JSON.stringify(body).split("iVBORw0KGgo=").length - 1,
    );
    expect(pictures[0]).toBe(3);
    expect(pictures[1]).toBeLessThan(3);
    expect(provider.faults()).toEqual([]);
  });
});

describe("what cannot be recovered", () => {
  it("ends in an error that says what was tried, with the provider's own as its cause", async () => {
    await start({ answer: () => tooLong(70_000, 64_000) });
    const { model } = carryover(provider.model("openai-compatible"), { limits });
    const error = await generateText({ model, messages, tools: { read } }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GiveUpError);
    expect(error).toMatchObject({ code: "CARRYOVER_GIVE_UP", reason: "still-refused" });
    expect(String(error)).toContain("Tried: ");
    expect(String((error as GiveUpError).cause)).toContain("prompt is too long");
    // The limit is halved at each further refusal until nothing gets smaller: it ends.
    expect(provider.server.requests.length).toBeLessThanOrEqual(10);
  });

  it("reaches the caller as it is when a smaller request would not help", async () => {
    const refusal: Reply = { type: "refusal", status: 401, body: { error: { message: "no such key" } } };
    await start({ answer: () => refusal });
    const { model } = carryover(provider.model("openai-compatible"), { limits });
    await expect(generateText({ model, messages, tools: { read } })).rejects.toThrow("no such key");
    expect(provider.server.requests).toHaveLength(1);
  });

  it("is the SDK's to retry when the server is overloaded", async () => {
    const overloaded: Reply = {
      type: "refusal",
      status: 503,
      body: { error: { message: "overloaded" } },
      headers: { "retry-after-ms": "1" },
    };
    await start({ answer: ({ count }) => (count === 0 ? overloaded : DONE) });
    const { model, session } = carryover(provider.model("openai-compatible"), { limits });
    const { text } = await generateText({ model, messages, tools: { read } });
    expect(text).toBe("Module 11.");
    expect(session.ledger()).toEqual([]);
  });
});

describe("an answer that tells of a window that was exceeded", () => {
  it("is kept, and the window is compacted before the next request", async () => {
    const answer: Reply = { ...DONE, usage: { inputTokens: 66_000, outputTokens: 20 } };
    await start({ answer: ({ count }) => (count === 0 ? answer : DONE) });
    const { model, session } = carryover(provider.model("openai-compatible"), { limits });
    const first = await generateText({ model, messages, tools: { read } });
    await generateText({
      model,
      messages: [...messages, ...first.response.messages, { role: "user", content: "Sure?" }],
      tools: { read },
    });
    expect(session.ledger().map(({ step, outcome }) => `${step} ${outcome}`)).toContain("compact applied");
    expect(provider.faults()).toEqual([]);
  });
});

const LENGTH_FINISH = {
  "openai-compatible": "length",
  "openai-chat": "length",
  anthropic: "model_context_window_exceeded",
  "openai-responses": "max_output_tokens",
} as const;

/** Characters of each request that was not for a summary. */
function sizes(): readonly number[] {
  return provider.server.requests
    .filter(({ body }) => body.tools !== undefined)
    .map(({ body }) => JSON.stringify(body).length);
}
