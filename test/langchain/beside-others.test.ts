import { Command, MemorySaver } from "@langchain/langgraph";
import {
  type AgentMiddleware,
  type BaseMessage,
  createAgent,
  createMiddleware,
  dynamicSystemPromptMiddleware,
  humanInTheLoopMiddleware,
  providerStrategy,
  ToolMessage,
  tool,
  toolRetryMiddleware,
  toolStrategy,
} from "langchain";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryOutputStore } from "../../src/index.ts";
import { carryoverMiddleware } from "../../src/langchain.ts";
import {
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
} from "../ai-sdk/harness/scripted-provider.ts";
import { toolText } from "../ai-sdk/harness/tool-texts.ts";
import type { Reply } from "../rig/model-server/step.ts";
import { type ChatModelName, chatModel, readTool } from "./scripted-agent.ts";

let provider: ScriptedProvider;
const start = async (options: ScriptedProviderOptions): Promise<ScriptedProvider> => {
  provider = await startScriptedProvider(options);
  return provider;
};
afterEach(() => provider.stop());

const question = (content: string) => ({ messages: [{ role: "user", content }] });
const inThread = { configurable: { thread_id: "1" }, recursionLimit: 200 };
const read = (path: string, count = 1): Reply => ({
  type: "answer",
  text: `I read ${path}.`,
  calls: Array.from({ length: count }, (_, index) => ({ tool: "read", input: { path: `${path}-${index}` } })),
});
const done: Reply = { type: "answer", text: "Done." };
const lastBody = () => provider.server.requests.at(-1)?.body as { readonly messages: readonly unknown[] };
/** LangChain's own types do not fit each other where optional fields are exact. */
const both = (...middleware: readonly unknown[]) => middleware as AgentMiddleware[];
const resultsIn = (messages: readonly BaseMessage[]) =>
  messages.filter((message): message is ToolMessage => ToolMessage.isInstance(message));

describe("a long output", () => {
  const long = toolText(1, 120_000);

  it("is cut as it comes in, its whole beside it, and the model recalls the middle by its handle", async () => {
    await start({
      answer({ count, body }) {
        if (count === 0) return read("log");
        const handle = /handle (\S+?)[.:]/.exec(JSON.stringify(body))?.[1];
        if (count === 1)
          return {
            type: "answer",
            calls: [{ tool: "recall", input: { handle, fromLine: 700, toLine: 702 } }],
          };
        return done;
      },
    });
    const agent = createAgent({
      model: chatModel(provider, "anthropic"),
      tools: [readTool(() => long)],
      middleware: [carryoverMiddleware()],
    });
    const { messages } = await agent.invoke(question("Read."));
    const [cut, recalled] = resultsIn(messages);
    expect(cut?.text.length).toBeLessThan(60_000);
    expect(cut?.text.slice(0, 200)).toBe(long.slice(0, 200));
    expect(cut?.additional_kwargs.carryover_whole_output).toBe(long);
    expect(recalled?.text).toContain(long.split("\n").slice(699, 702).join("\n"));
    expect(JSON.stringify(lastBody()).length).toBeLessThan(60_000);
    expect(provider.faults()).toEqual([]);
  });

  it("is in the store alone where there is one, trimmed once", async () => {
    await start({ answer: ({ count }) => (count === 0 ? read("log") : done) });
    const outputs = createMemoryOutputStore();
    const agent = createAgent({
      model: chatModel(provider, "openai-chat"),
      tools: [readTool(() => long)],
      middleware: [carryoverMiddleware({ store: { outputs } })],
    });
    const { messages } = await agent.invoke(question("Read."));
    const [cut] = resultsIn(messages);
    expect(cut?.additional_kwargs).toEqual({});
    const [handle = ""] = /[0-9a-f]{64}/.exec(cut?.text ?? "") ?? [];
    expect(await outputs.get(handle)).toBe(long);
    // What is sent is what is in the state.
    expect(JSON.stringify(lastBody())).toContain(JSON.stringify(cut?.text));
  });
});

describe("a tool that throws", () => {
  const failing = tool(() => Promise.reject(new Error("no such file")), {
    name: "read",
    description: "Reads a file.",
    schema: z.object({ path: z.string() }),
  });
  const told = async (middleware: Parameters<typeof createAgent>[0]["middleware"] = []) => {
    await start({ answer: ({ count }) => (count === 0 ? read("log") : done) });
    const agent = createAgent({ model: chatModel(provider, "anthropic"), tools: [failing], middleware });
    const [result] = resultsIn((await agent.invoke(question("Read."))).messages);
    return [result?.text, result?.status];
  };

  it("is told to the model as it is without us", async () => {
    const without = await told();
    await provider.stop();
    expect(await told([carryoverMiddleware()])).toEqual(without);
  });

  it("is still tried again by a middleware for that", async () => {
    let tries = 0;
    await start({ answer: ({ count }) => (count === 0 ? read("log") : done) });
    const flaky = readTool(() => {
      if (++tries < 3) throw new Error("busy");
      return "content";
    });
    const agent = createAgent({
      model: chatModel(provider, "anthropic"),
      tools: [flaky],
      middleware: both(
        toolRetryMiddleware({ maxRetries: 3, initialDelayMs: 1, jitter: false }),
        carryoverMiddleware(),
      ),
    });
    const [result] = resultsIn((await agent.invoke(question("Read."))).messages);
    expect([tries, result?.text]).toEqual([3, "content"]);
  });
});

describe("a middleware around ours that asks twice", () => {
  it("gets both answers, and the thread keeps the newest state", async () => {
    await start({ answer: ({ count }) => ({ type: "answer", text: `Answer ${count}.` }) });
    const twice = createMiddleware({
      name: "twice",
      wrapModelCall: async (request, handler) => {
        await handler(request);
        return handler(request);
      },
    });
    const agent = createAgent({
      model: chatModel(provider, "anthropic"),
      tools: [],
      middleware: both(twice, carryoverMiddleware()),
      checkpointer: new MemorySaver(),
    });
    const { messages } = await agent.invoke(question("Hello."), inThread);
    expect(messages.map(({ text }: BaseMessage) => text)).toEqual(["Hello.", "Answer 1."]);
    expect((await agent.graph.getState(inThread)).values._carryover).toMatchObject({ version: 1 });
  });
});

describe("a structured answer", () => {
  const schema = z.object({ verdict: z.string() });

  it.each([
    { name: "by a tool", format: toolStrategy(schema), model: "anthropic" },
    { name: "by the provider", format: providerStrategy(schema), model: "openai-chat" },
  ] as const)("comes as it would without us, and the thread keeps its state: $name", async (given) => {
    await start({
      answer: ({ body }) => {
        const tools = JSON.stringify(body.tools ?? []);
        const extract = /"(extract-\d+|extract[^"]*)"/.exec(tools)?.[1];
        return given.name === "by a tool"
          ? { type: "answer", calls: [{ tool: extract ?? "extract", input: { verdict: "good" } }] }
          : { type: "answer", text: '{"verdict":"good"}' };
      },
    });
    const agent = createAgent({
      model: chatModel(provider, given.model),
      tools: [readTool(() => "content")],
      responseFormat: given.format as never,
      middleware: [carryoverMiddleware()],
      checkpointer: new MemorySaver(),
    });
    const result = await agent.invoke(question("Judge."), inThread);
    expect(result.structuredResponse).toEqual({ verdict: "good" });
    const { values } = await agent.graph.getState(inThread);
    expect(values._carryover).toMatchObject({ version: 1, session: { v: 3 } });
    expect(values.messages.map((message: BaseMessage) => message.getType())).toEqual(
      given.name === "by a tool" ? ["human", "ai", "tool", "ai"] : ["human", "ai"],
    );
    const again = await agent.invoke(question("Judge again."), inThread);
    expect(again.structuredResponse).toEqual({ verdict: "good" });
    expect(provider.faults()).toEqual([]);
  });
});

describe("a human in the loop", () => {
  it("approves a recall in another process", async () => {
    const checkpointer = new MemorySaver();
    await start({
      answer({ count }) {
        if (count === 0) return read("log");
        return count === 1
          ? { type: "answer", calls: [{ tool: "recall", input: { search: "needle" } }] }
          : done;
      },
    });
    const output = `${toolText(1, 60_000)}\nthe needle is here\n${toolText(2, 60_000)}`;
    const create = () =>
      createAgent({
        model: chatModel(provider, "anthropic"),
        tools: [readTool(() => output)],
        middleware: both(
          carryoverMiddleware(),
          humanInTheLoopMiddleware({ interruptOn: { recall: { allowedDecisions: ["approve"] } } } as never),
        ),
        checkpointer,
      });
    const paused = await create().invoke(question("Read."), inThread);
    expect(paused).toHaveProperty("__interrupt__");
    const resume = new Command({ resume: { decisions: [{ type: "approve" }] } });
    const { messages } = await create().invoke(resume, inThread);
    expect(resultsIn(messages).at(-1)?.text).toContain("the needle is here");
    expect(messages.at(-1)?.text).toBe("Done.");
    expect(provider.faults()).toEqual([]);
  });
});

describe("a thread that goes back", () => {
  it("has the window of then, and the newer one goes on as well", async () => {
    await start({
      windowTokens: 16_000,
      answer: ({ count, body }) =>
        count >= 12 || JSON.stringify(body).includes("Go on") ? done : read(`file-${count}`, 2),
    });
    const agent = createAgent({
      model: chatModel(provider, "anthropic"),
      tools: [readTool((path) => toolText(path.length, 8_000))],
      middleware: [carryoverMiddleware()],
      checkpointer: new MemorySaver(),
    });
    await agent.invoke(question("Read."), inThread);
    const newest = await agent.graph.getState(inThread);
    const states = [];
    for await (const state of agent.graph.getStateHistory(inThread)) states.push(state);
    const middle = states.find(
      ({ values, next }) => next[0] === "model_request" && values.messages.length < 20,
    );
    expect(middle).toBeDefined();
    const refusals = provider.refusals();
    await agent.invoke(null, { ...inThread, ...middle?.config });
    await agent.invoke(question("Go on."), { ...inThread, ...newest.config });
    expect(provider.refusals()).toBe(refusals);
    expect(provider.faults()).toEqual([]);
  });
});

describe("agent.stream", () => {
  it("gives the agent's words and nothing of summaries", async () => {
    await start({
      windowTokens: 16_000,
      answer: ({ count }) => (count >= 12 ? done : read(`file-${count}`, 2)),
    });
    const agent = createAgent({
      model: chatModel(provider, "anthropic"),
      tools: [readTool((path) => toolText(path.length, 8_000))],
      // Only with pruning off does so short a loop ask for a summary.
      middleware: [carryoverMiddleware({ prune: "off", backgroundCompaction: "off" })],
    });
    let text = "";
    for await (const [message] of await agent.stream(question("Read."), {
      ...inThread,
      streamMode: "messages",
    }))
      if (message.getType() === "ai") text += message.text;
    const summaries = provider.server.requests.filter(({ body }) => body.tools === undefined);
    expect(summaries.length).toBeGreaterThan(0);
    expect(text).toContain("I read file-0.");
    expect(text.endsWith("Done.")).toBe(true);
    expect(text).not.toContain("## Goal");
    expect(provider.faults()).toEqual([]);
  });
});

describe("a sub-agent with the same middleware", () => {
  it("has a window of its own", async () => {
    await start({
      answer({ body }) {
        const sent = JSON.stringify(body);
        if (sent.includes("Delegate.")) return sent.includes("tool_result") ? done : ask;
        return sent.includes("tool_result") ? { type: "answer", text: "The child is done." } : read("file");
      },
    });
    const ask: Reply = { type: "answer", calls: [{ tool: "delegate", input: { task: "Task of a child" } }] };
    const middleware = [carryoverMiddleware()];
    const model = chatModel(provider, "anthropic");
    const child = createAgent({ model, tools: [readTool(() => "content")], middleware });
    const delegate = tool(
      async ({ task }: { task: string }) => (await child.invoke(question(task))).messages.at(-1)?.text ?? "",
      { name: "delegate", description: "Gives a task away.", schema: z.object({ task: z.string() }) },
    );
    const agent = createAgent({ model, tools: [delegate], middleware, checkpointer: new MemorySaver() });
    const { messages } = await agent.invoke(question("Delegate."), inThread);
    expect(resultsIn(messages)[0]?.text).toBe("The child is done.");
    expect(messages.at(-1)?.text).toBe("Done.");
    expect(provider.faults()).toEqual([]);
  });
});

describe("a request that only fits with a shorter answer", () => {
  it.each([
    { model: "anthropic", limit: "max_tokens" },
    { model: "openai-chat", limit: "max_completion_tokens" },
    { model: "openai-responses", limit: "max_output_tokens" },
  ] as const)("is sent again with a lower limit: $model", async ({ model, limit }) => {
    const asked: unknown[] = [];
    await start({
      answer({ body }): Reply {
        asked.push(body[limit]);
        if (asked.length > 1) return done;
        const message =
          "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000, decrease input length or `max_tokens` and try again";
        return {
          type: "refusal",
          status: 400,
          body: { type: "error", error: { type: "invalid_request_error", message } },
        };
      },
    });
    const agent = createAgent({
      model: chatModel(provider, model as ChatModelName, { maxTokens: 16_000 }),
      tools: [readTool(() => "content")],
      middleware: [carryoverMiddleware()],
    });
    const { messages } = await agent.invoke(question("Hello."));
    expect(messages.at(-1)?.text).toBe("Done.");
    expect(asked[0]).toBe(16_000);
    expect(asked[1]).toBeLessThan(10_001);
  });
});

describe("a thread whose system prompt changes", () => {
  it("is refused once for the thoughts behind it, and never again in another process", async () => {
    await start({ answer: ({ count }) => (count % 2 === 0 ? read(`file-${count}`) : done) });
    let systemPrompt = "Be brief.";
    const checkpointer = new MemorySaver();
    const create = () =>
      createAgent({
        model: chatModel(provider, "anthropic"),
        tools: [readTool(() => "content")],
        middleware: both(
          dynamicSystemPromptMiddleware(() => systemPrompt),
          carryoverMiddleware(),
        ),
        checkpointer,
      });
    const refusalsOf = async (agent: ReturnType<typeof create>): Promise<number> => {
      await agent.invoke(question("Read."), inThread);
      return provider.server.thinking.takeRefusals().length;
    };
    const first = create();
    expect(await refusalsOf(first)).toBe(0);
    systemPrompt = "Be kind.";
    expect([await refusalsOf(first), await refusalsOf(create())]).toEqual([1, 0]);
    expect(provider.faults()).toEqual([]);
  });
});
