import { generateText, jsonSchema, type LanguageModel, type ModelMessage, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, it, vi } from "vitest";
import { ConfigurationError } from "../../text/check.ts";
import { carryover } from "./carryover.ts";
import type { CarryoverOptions } from "./options.ts";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const answering = (text: string) =>
  new MockLanguageModelV3({
    doGenerate: {
      content: [{ type: "text", text }],
      finishReason: { unified: "stop", raw: "stop" },
      usage,
      warnings: [],
    },
  });

describe("carryover", () => {
  it("gives a model of the same name and version", async () => {
    const base = answering("hi");
    const { model } = carryover(base);
    expect([model.provider, model.modelId, model.specificationVersion]).toEqual([
      base.provider,
      base.modelId,
      "v3",
    ]);
    expect(await model.supportedUrls).toEqual(await base.supportedUrls);
  });

  it("says what a model of version 2 says, whose answers are in that version's form", async () => {
    const base = {
      specificationVersion: "v2" as const,
      provider: "mock",
      modelId: "first",
      supportedUrls: {},
      doGenerate: async () => ({
        content: [{ type: "text" as const, text: "hi" }],
        finishReason: "stop" as const,
        usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 },
        warnings: [],
      }),
      doStream: () => Promise.reject(new Error("not asked")),
    };
    const { model } = carryover(base);
    const { finishReason, usage } = await generateText({ model, prompt: "hello" });
    expect([finishReason, usage.inputTokens, usage.outputTokens]).toEqual(["stop", 10, 2]);
    base.modelId = "second";
    expect(model.modelId).toBe("second");
  });

  it("takes whatever generateText takes, and shows a wrong option where it stands", () => {
    const either: LanguageModel = answering("hi") as LanguageModel;
    const { model } = carryover(either);
    expect(model.provider).toBe("mock-provider");
    expect(() =>
      carryover(answering("hi"), {
        // @ts-expect-error "sometimes" is none: the error stands here, not at the model.
        prune: "sometimes",
      }),
    ).toThrow(ConfigurationError);
  });

  it("sends what fits as it is, with everything else of the request", async () => {
    const base = answering("hi");
    const { model } = carryover(base);
    const providerOptions = { acme: { effort: "low" } };
    await generateText({ model, prompt: "hello", temperature: 0.5, providerOptions });
    expect(base.doGenerateCalls).toHaveLength(1);
    expect(base.doGenerateCalls[0]).toMatchObject({
      prompt: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
      temperature: 0.5,
      providerOptions,
    });
  });

  it("sends every result of a server that gives all calls one id", async () => {
    const prompts: unknown[] = [];
    const base = new MockLanguageModelV3({
      doGenerate: async ({ prompt }) => {
        prompts.push(prompt);
        const input = JSON.stringify({ command: `run ${prompts.length}` });
        const isLast = prompts.length > 4;
        return {
          content: isLast
            ? [{ type: "text", text: "done" }]
            : [{ type: "tool-call", toolCallId: "call_0", toolName: "bash", input }],
          finishReason: isLast
            ? { unified: "stop", raw: "stop" }
            : { unified: "tool-calls", raw: "tool_calls" },
          usage,
          warnings: [],
        };
      },
    });
    const bash = tool({
      inputSchema: jsonSchema<{ command: string }>({
        type: "object",
        properties: { command: { type: "string" } },
      }),
      execute: async ({ command }) => `output of ${command}`,
    });
    const { model, session } = carryover(base);
    await generateText({ model, prompt: "go", tools: { bash }, stopWhen: stepCountIs(6) });
    const sent = JSON.stringify(prompts.at(-1));
    for (const number of [1, 2, 3, 4]) expect(sent).toContain(`output of run ${number}`);
    expect(sent.match(/"toolCallId":"[^"]*"/g)).toEqual(
      ["call_0", "call_0", "call_0_2", "call_0_2", "call_0_3", "call_0_3", "call_0_4", "call_0_4"].map(
        (id) => `"toolCallId":"${id}"`,
      ),
    );
    expect(session.ledger()).toEqual([]);
  });

  it("counts what the model counted", async () => {
    const { model, session } = carryover(answering("hi"));
    const messages: ModelMessage[] = [{ role: "user", content: "hello" }];
    const { response } = await generateText({ model, messages });
    await generateText({
      model,
      messages: [...messages, ...response.messages, { role: "user", content: "on" }],
    });
    expect(session.status().estimate).toMatchObject({ source: "usage", usageTokens: 12 });
  });

  it("does one thing after another when it is called twice at once", async () => {
    const base = answering("hi");
    const { model } = carryover(base);
    const answers = await Promise.all([
      generateText({ model, prompt: "one" }),
      generateText({ model, prompt: "two" }),
    ]);
    expect(answers.map(({ text }) => text)).toEqual(["hi", "hi"]);
    const prompts = base.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt));
    expect(prompts.some((prompt) => prompt.includes("one"))).toBe(true);
    expect(prompts.some((prompt) => prompt.includes("two"))).toBe(true);
  });

  it("says everything that is wrong with the options at once", () => {
    const options = {
      limits: { contextTokens: "1", outputTokens: "many" },
      summarizer: 5,
      store: { outputs: {}, journal: { append: () => undefined } },
      onCompact: "yes",
      restore: "{}",
      expectedTurns: 12,
      colour: "red",
    } as unknown as CarryoverOptions;
    const problems = problemsOf(() => carryover(" " as never, options));
    for (const part of [
      'the model is " "',
      'limits.contextTokens is "1"',
      'limits.outputTokens is "many"',
      "summarizer is 5",
      "store.outputs is an object; give an object with the functions put and get",
      "store.journal is an object; give an object with the functions append and read",
      'onCompact is "yes"',
      'restore is "{}"',
      "expectedTurns is not an option; leave it out",
      "colour is not an option",
    ])
      expect(problems.some((problem) => problem.includes(part))).toBe(true);
    expect(problems).toHaveLength(10);
  });

  it("takes the words of the documents in their profile alone, also for another conversation of it", () => {
    const own = { compaction: { keepRecent: 3 } };
    expect(() => carryover(answering("hi"), { profile: "documented" }).for("child", own)).not.toThrow();
    expect(problemsOf(() => carryover(answering("hi")).for("child", own))).toEqual([
      'compaction.keepRecent is not an option; give keepTokens, or profile "documented"',
    ]);
  });

  it("knows the windows of the models that people use, and a common one for the rest", () => {
    const windowOf = (modelId: string, options = {}): number =>
      carryover(new MockLanguageModelV3({ modelId }), options).session.status().contextWindowTokens;
    expect(windowOf("gpt-4.1")).toBe(1_047_576);
    expect(windowOf("anthropic/claude-opus-5.5")).toBe(1_000_000);
    expect(windowOf("some-new-model")).toBe(128_000);
    expect(
      windowOf("some-new-model", { models: [{ names: ["some-new-model"], contextTokens: 9_000 }] }),
    ).toBe(9_000);
  });
});

describe("an option of carryover()", () => {
  const known = problemsOf(() => carryover(answering("hi"), { colour: "red" } as never))
    .join()
    .replace(/^.*known are /, "")
    .split(", ");

  it("is named where an unknown one is refused, and those that it knows itself are not", () => {
    expect(known).toEqual(expect.arrayContaining(["limits", "summarizer", "store", "restore", "onCompact"]));
    for (const own of ["model", "systemChars", "toolsChars"]) expect(known).not.toContain(own);
  });

  it.each(known)("is not given where it is undefined: %s", async (name) => {
    const [given, bare] = await Promise.all(
      [{ [name]: undefined }, {}].map(async (options) => {
        const base = answering("hi");
        const { model, session } = carryover(base, { clock, ...options } as CarryoverOptions);
        await generateText({ model, prompt: "hello" });
        return { status: session.status(), state: session.toJSON(), sent: base.doGenerateCalls[0]?.prompt };
      }),
    );
    expect(given).toEqual(bare);
  });
});

const clock = { now: () => 0, sleep: () => new Promise<void>(() => undefined) };

describe("the limits of a conversation", () => {
  const status = (modelId: string, options: object = {}) =>
    carryover(new MockLanguageModelV3({ modelId }), options as CarryoverOptions).session.status();

  it("are those of the model where they are undefined, whole or in part", () => {
    expect(status("gpt-5", { limits: undefined }).limitTokens).toBe(272_000 - 16_384);
    expect(status("gpt-5", { limits: { outputTokens: 4_000, contextTokens: undefined } }).limitTokens).toBe(
      272_000 - 16_384,
    );
    expect(status("gpt-3.5-turbo").limitTokens).toBe(12_289);
  });

  it("are the window that is named, without the limit of the input that goes with another", () => {
    expect(status("gpt-5", { limits: { contextTokens: 1_000_000 } }).limitTokens).toBe(1_000_000 - 16_384);
  });

  it("are refused when they are negative", () => {
    expect(problemsOf(() => status("gpt-5", { limits: { contextTokens: -9, outputTokens: -1 } }))).toEqual([
      "limits.contextTokens is -9; give a number of tokens, 0 when unknown",
      "limits.outputTokens is -1; give a number of tokens, 0 when unknown",
    ]);
  });

  it.each([
    { name: "the default cap", cap: undefined, compactions: 1 },
    { name: "CARRYOVER_OUTPUT_TOKEN_MAX", cap: "8000", compactions: 0 },
  ])("leave free for the answer what is asked for: $name", async ({ cap, compactions }) => {
    vi.stubEnv("CARRYOVER_OUTPUT_TOKEN_MAX", cap);
    const inputTokens = { total: 170_000, noCache: 170_000, cacheRead: 0, cacheWrite: 0 };
    const base = new MockLanguageModelV3({
      doGenerate: {
        content: [{ type: "text", text: "ok" }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: { ...usage, inputTokens },
        warnings: [],
      },
    });
    const { model, session } = carryover(base, {
      limits: { contextTokens: 200_000, outputTokens: 64_000 },
      // Only the compaction is looked at.
      prune: "off",
      summarizer: { summarize: async () => "## Goal\nGo on.\n## Progress\nOne answer was given." },
    });
    vi.unstubAllEnvs();
    const messages: ModelMessage[] = [];
    for (const content of ["one ".repeat(20_000), "two"]) {
      messages.push({ role: "user", content });
      await generateText({ model, messages: [...messages] });
      messages.push({ role: "assistant", content: "ok" });
    }
    expect(session.ledger().filter(({ step }) => step === "compact")).toHaveLength(compactions);
  });
});

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}
