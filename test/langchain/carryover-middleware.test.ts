import { MemorySaver } from "@langchain/langgraph";
import { type BaseMessage, createAgent, ToolMessage } from "langchain";
import { describe, expect, it } from "vitest";
import { carryoverMiddleware } from "../../src/langchain.ts";
import { ConfigurationError } from "../../src/text/check.ts";
import { type ScriptedProvider, startScriptedProvider } from "../ai-sdk/harness/scripted-provider.ts";
import { toolText } from "../ai-sdk/harness/tool-texts.ts";
import type { Reply } from "../rig/model-server/step.ts";
import { CHAT_MODELS, chatModel, readTool } from "./scripted-agent.ts";

const WINDOW_TOKENS = 16_000;

/** A model that reads so many files in each turn, `parallel` at once. */
const reading = (steps: number, parallel = 1) =>
  startScriptedProvider({
    // A thread that is opened anew has no usage yet: what it estimates must be what this model counts.
    countsAs: "model",
    windowTokens: WINDOW_TOKENS,
    answer: ({ count, body }): Reply => {
      const isAsked = JSON.stringify(body).includes("Go on");
      if (count >= steps || isAsked) return { type: "answer", text: "All files are read." };
      const calls = Array.from({ length: parallel }, (_, index) => ({
        tool: "read",
        input: { path: `src/file-${count}-${index}.ts` },
      }));
      return { type: "answer", text: `Step ${count}.`, calls };
    },
  });

/** An agent with default options, as a process would make it. */
const createReader = (
  provider: ScriptedProvider,
  { name = "anthropic", checkpointer, ...options }: ReaderOptions,
) =>
  createAgent({
    model: chatModel(provider, name),
    tools: [readTool((path) => toolText(path.length + Number(/\d+/.exec(path)?.[0]), 9_000))],
    systemPrompt: "You are a careful reader of code.",
    middleware: [carryoverMiddleware(options)],
    ...(checkpointer && { checkpointer }),
  });

interface ReaderOptions extends NonNullable<Parameters<typeof carryoverMiddleware>[0]> {
  readonly name?: (typeof CHAT_MODELS)[number];
  readonly checkpointer?: MemorySaver;
}

const question = (content: string) => ({ messages: [{ role: "user", content }] });
const inThread = (thread_id: string) => ({ configurable: { thread_id }, recursionLimit: 200 });
const sentMessages = (provider: ScriptedProvider) =>
  provider.server.requests.at(-1)?.body as { messages: unknown };

describe("carryoverMiddleware()", () => {
  it.each(CHAT_MODELS)("keeps a loop in a window that it learns from one refusal: %s", async (name) => {
    const provider = await reading(8, 2);
    const agent = createReader(provider, { name });
    const { messages } = await agent.invoke(question("Read every file."), inThread("1"));
    expect(messages.at(-1)?.text).toBe("All files are read.");
    expect(provider.refusals()).toBe(1);
    expect(provider.faults()).toEqual([]);
    // The messages of the state are those of the loop, word for word.
    const results = messages.filter((message: BaseMessage) => ToolMessage.isInstance(message));
    expect(results).toHaveLength(16);
    expect(Math.min(...results.map(({ text }) => text.length))).toBeGreaterThan(8_500);
    await provider.stop();
  });

  it.each([
    { name: "anthropic", way: "stream" },
    { name: "openai-chat", way: "stream" },
    { name: "openai-responses", way: "invoke" },
  ] as const)(
    "sends nothing that a provider refuses, thoughts and summaries included: $name",
    async (given) => {
      const provider = await startScriptedProvider({
        windowTokens: WINDOW_TOKENS,
        answer({ count }): Reply {
          if (count >= 10) return { type: "answer", text: "Done." };
          const calls = Array.from({ length: 1 + (count % 3) }, (_, index) => ({
            tool: "read",
            input: { path: `${count}-${index}` },
          }));
          return { type: "answer", reasoning: `File ${count}.`, text: `Step ${count}.`, calls };
        },
      });
      // Only with pruning off does so short a loop ask for a summary.
      const agent = createReader(provider, { name: given.name, prune: "off", backgroundCompaction: "off" });
      if (given.way === "invoke") await agent.invoke(question("Read."), inThread("1"));
      else for await (const _ of await agent.stream(question("Read."), inThread("1")));
      const { requests } = provider.server;
      expect(requests.filter(({ body }) => body.tools === undefined).length).toBeGreaterThan(1);
      expect(requests.at(-1)?.reply).toMatchObject({ text: "Done." });
      expect(provider.faults()).toEqual([]);
      await provider.stop();
    },
  );

  it("goes on from a checkpoint in another process as it would have in the first", async () => {
    const provider = await reading(15);
    const checkpointer = new MemorySaver();
    const first = createReader(provider, { checkpointer });
    await first.invoke(question("Read every file."), inThread("1"));
    const { config } = await first.graph.getState(inThread("1"));
    await first.invoke(question("Go on."), { ...config, recursionLimit: 200 });
    const live = sentMessages(provider).messages;
    const second = createReader(provider, { checkpointer });
    await second.invoke(question("Go on."), { ...config, recursionLimit: 200 });
    expect(sentMessages(provider).messages).toEqual(live);
    expect(JSON.stringify(live).length).toBeLessThan(60_000);
    expect(provider.refusals()).toBe(1);
    expect(provider.faults()).toEqual([]);
    await provider.stop();
  });

  it("says everything that is wrong with its options at once", () => {
    const options = {
      limits: { contextTokens: "1" },
      summarizer: 5,
      store: { outputs: {} },
      recallTool: "",
      restore: {},
      expectedTurns: 12,
      colour: "red",
    };
    let problems: readonly string[] = [];
    try {
      carryoverMiddleware(options as never);
    } catch (error) {
      problems = error instanceof ConfigurationError ? error.problems : [];
    }
    for (const part of [
      'limits.contextTokens is "1"',
      "summarizer is 5",
      "store.outputs is an object",
      'recallTool is ""',
      "restore is not an option",
      "expectedTurns is not an option; leave it out",
      "colour is not an option",
    ])
      expect(problems.some((problem) => problem.includes(part))).toBe(true);
    expect(problems).toHaveLength(7);
  });
});
