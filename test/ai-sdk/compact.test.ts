import { generateText, type ModelMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { aiSdk, type CarryoverOptions, carryover, compact } from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { deepFreeze } from "../rig/notation.ts";
import { longConversation } from "./harness/conversation.ts";
import { type ScriptedProvider, startScriptedProvider } from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

let provider: ScriptedProvider;
afterEach(() => provider.stop());

const limits = { contextTokens: 60_000, outputTokens: 2_000 };
const history = deepFreeze(longConversation({ turns: 16, outputBytes: 6_000 })) as ModelMessage[];
const next: ModelMessage = { role: "user", content: "Which module was the last one?" };

async function start(): Promise<void> {
  provider = await startScriptedProvider({
    windowTokens: 60_000,
    answer: () => ({ type: "answer", text: "Module 15." }),
  });
}

const sent = () => provider.server.requests.map(({ body }) => body);
const summaries = (): number => sent().filter(({ tools }) => tools === undefined).length;

/** One request of a server that forgets everything between two of them. */
async function serve(messages: ModelMessage[], options: CarryoverOptions): Promise<readonly unknown[]> {
  const { model } = carryover(provider.model("openai-compatible"), { limits, ...options });
  await generateText({ model, system: "You read modules.", messages, tools: { read }, maxRetries: 0 });
  return sent().at(-1)?.messages as readonly unknown[];
}

describe("compact(messages)", () => {
  it("sums up the old part in a process that knows nothing, and changes nothing that it was given", async () => {
    await start();
    const model = provider.model("openai-compatible");
    const models = [{ names: [model.modelId], prices: [{ input: 3, output: 15, cacheRead: 3 }] }];
    const result = await compact(history, { model, limits, models });
    if (result.status !== "compacted") throw new Error(result.message);
    expect(result.summary).toContain("## Progress");
    expect(JSON.stringify(result.messages)).toContain("Read every file.");
    expect(result.messages.length).toBeLessThan(history.length / 2);
    expect(result.tokensAfter).toBeLessThan(result.tokensBefore * 0.6);
    expect(result.usage.inputTokens).toBeGreaterThan(1_000);
    expect(result.usage.outputTokens).toBeGreaterThan(0);
    expect(result.costUSD).toBeGreaterThan(0);
    expect(aiSdk.faults([...result.messages, next])).toEqual([]);
    expect(summaries()).toBe(1);
    await serve([...result.messages, next], {});
    expect(summaries()).toBe(1);
  });

  it("gives a state for those who keep all messages, which holds beside a system prompt too", async () => {
    await start();
    const { state, messages } = await compact(history, {
      model: provider.model("openai-compatible"),
      limits,
    });
    const [system, ...window] = await serve([...history, next], {
      restore: JSON.parse(JSON.stringify(state)),
    });
    expect(system).toMatchObject({ role: "system" });
    expect(window).toHaveLength(messages.length + 1);
    expect(JSON.stringify(window)).not.toContain("Module 3 is in order.");
    expect(summaries()).toBe(1);
  });

  it("goes on where an earlier one was", async () => {
    await start();
    const model = provider.model("openai-compatible");
    const first = await compact(history.slice(0, 40), { model, limits });
    const second = await compact(history, { model, limits, restore: first.state });
    expect(second.status).toBe("compacted");
    const anew = await compact(history, { model, limits });
    expect(second.tokensBefore).toBeLessThan(anew.tokensBefore);
    expect(JSON.stringify(second.messages)).not.toContain("Module 3 is in order.");
    expect(aiSdk.faults(second.messages)).toEqual([]);
  });

  it("needs no model", async () => {
    await start();
    const result = await compact(history);
    expect(result).toMatchObject({ status: "compacted", degraded: true, usage: { inputTokens: 0 } });
    expect(result.tokensAfter).toBeLessThan(result.tokensBefore);
    expect(await compact(history, { summarizer: { instructions: "Be short." } })).toMatchObject({
      status: "compacted",
      degraded: true,
    });
    expect(sent()).toEqual([]);
  });

  it.each([
    { name: "no messages", messages: [], reason: "no-messages" },
    { name: "one message", messages: [next], reason: "nothing-old" },
  ])("says plainly that there is nothing to do: $name", async ({ messages, reason }) => {
    await start();
    const model = provider.model("openai-compatible");
    const result = await compact(messages, { model, limits });
    expect(result).toMatchObject({ status: "nothing", reason, messages });
    if (result.status === "compacted") throw new Error("compacted");
    expect(result.message).toMatch(/^There is nothing to compact: /);
    expect(sent()).toEqual([]);
  });

  it("says that no summary could be had, and leaves the messages as they are", async () => {
    await start();
    const summarizer = { summarize: () => Promise.reject(new Error("503")) };
    const result = await compact(history, { summarizer, limits });
    expect(result).toMatchObject({ status: "failed", reason: "summary-failed", messages: history });
    expect(result.tokensAfter).toBe(result.tokensBefore);
  });

  it("ends when it is aborted", async () => {
    await start();
    const model = provider.model("openai-compatible");
    const result = await compact(history, { model, limits, signal: AbortSignal.abort() });
    expect(result).toMatchObject({ status: "nothing", reason: "aborted", messages: history });
  });

  it("refuses what it cannot use, all at once", async () => {
    await start();
    const page = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi." }] }];
    await expect(async () => compact(page as never)).rejects.toThrow("convertToModelMessages");
    await expect(async () => compact("Hi." as never)).rejects.toThrow("give a list of ModelMessage");
    const wrong = { model: 5, keepTokens: -1, colour: "red" } as never;
    await expect(async () => compact(history, wrong)).rejects.toThrow(
      /model is 5.*[\s\S]*keepTokens is -1.*[\s\S]*colour is not an option/,
    );
  });
});

describe("compact of a conversation", () => {
  it("compacts what is given or what was sent last, persists it, and the next request goes on with it", async () => {
    await start();
    const states: unknown[] = [];
    const chat = carryover(provider.model("openai-compatible"), {
      limits,
      onCompact: ({ state }) => void states.push(state),
    });
    expect(await chat.compact()).toMatchObject({ status: "nothing", reason: "no-messages" });
    expect(await chat.compact(history)).toMatchObject({ status: "compacted" });
    expect(states).toHaveLength(1);
    await generateText({ model: chat.model, messages: [...history, next], tools: { read } });
    expect(summaries()).toBe(1);
    expect(await chat.compact()).toMatchObject({ status: "compacted" });
  });

  it("is asked for in vain of a session that has seen no message, which says so", async () => {
    await start();
    const events: SessionEvent[] = [];
    const { session } = carryover(provider.model("openai-compatible"), {
      onEvent: (event) => void events.push(event),
    });
    expect(await session.prepare({ demand: "manual" })).toEqual({
      type: "none",
      reason: "no-messages",
      fits: true,
    });
    expect(events).toContainEqual(expect.objectContaining({ type: "warning", code: "no-messages" }));
  });
});

describe("for(id)", () => {
  it("gives a conversation of its own by the same options, the same one for the same id", async () => {
    await start();
    const told: unknown[] = [];
    const states = new Map<string | undefined, unknown>();
    const {
      model,
      session,
      for: forId,
    } = carryover(provider.model("openai-compatible"), {
      limits: { contextTokens: 20_000, outputTokens: 2_000 },
      // Summaries are counted; by default this conversation is pruned instead (summarizer.test.ts).
      prune: "off",
      onCompact: ({ state, id }) => void states.set(id, state),
      onUsage: (_, id) => void told.push(id),
    });
    const agent = forId("researcher");
    expect(forId("researcher")).toBe(agent);
    expect(agent.for("researcher")).toBe(agent);
    expect(forId("title")).not.toBe(agent);
    await generateText({ model, messages: [...history, next], tools: { read } });
    const before = session.toJSON();
    await generateText({
      model: agent.model,
      messages: [{ role: "user", content: "Find out more." }, ...history, next],
      tools: { read },
    });
    expect(session.toJSON()).toEqual(before);
    expect(agent.session.status().contextWindowTokens).toBe(20_000);
    expect([...states.keys()]).toEqual([undefined, "researcher"]);
    expect(told).toEqual([undefined, "researcher"]);
    expect(states.get("researcher")).toMatchObject({ batches: agent.session.toJSON().batches });
    expect(provider.refusals()).toBe(0);
  });

  it("takes what persists that conversation, and not what persists the first", async () => {
    await start();
    const base = provider.model("openai-compatible");
    const { state } = await compact(history, { model: base, limits });
    const chat = carryover(base, { limits, restore: state });
    const apart = chat.for("agent");
    const again = chat.for("again", { restore: state });
    await apart.compact([next]);
    await again.compact(history);
    expect(apart.session.status().batches).toEqual([]);
    expect(again.session.status().batches.length).toBeGreaterThan(0);
  });

  it("refuses what is no id, and other options that are wrong", async () => {
    await start();
    const chat = carryover(provider.model("openai-compatible"));
    expect(() => chat.for("")).toThrow('id is ""; give a text');
    expect(() => chat.for("a", { colour: "red" } as never)).toThrow("colour is not an option");
  });
});
