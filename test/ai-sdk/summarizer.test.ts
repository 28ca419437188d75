import { generateText, type ModelMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { type CarryoverOptions, carryover } from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import type { SummaryUsage } from "../../src/session/metered-summarizer.ts";
import { createFakeClock } from "../rig/fakes.ts";
import type { Reply } from "../rig/model-server/step.ts";
import { longConversation } from "./harness/conversation.ts";
import {
  PROVIDERS,
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
  summary,
} from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

let provider: ScriptedProvider;
afterEach(() => provider.stop());

const messages: ModelMessage[] = [
  ...longConversation({ turns: 16, outputBytes: 6_000 }),
  { role: "user", content: "Which module was the last one?" },
];
const limits = { contextTokens: 20_000, outputTokens: 2_000 };
// Summaries are looked at: by default this conversation is pruned and fits without one (the first test).
const summed = { limits, prune: "off" } as const;
const DONE: Reply = { type: "answer", text: "Module 15." };

async function ask(options: ScriptedProviderOptions, carryoverOptions: CarryoverOptions = {}) {
  provider = await startScriptedProvider({ windowTokens: 20_000, answer: () => DONE, ...options });
  const events: SessionEvent[] = [];
  const { model, session } = carryover(provider.model("openai-compatible"), {
    ...summed,
    onEvent: (event) => events.push(event),
    ...carryoverOptions,
  });
  return { answer: generateText({ model, messages, tools: { read }, maxRetries: 0 }), session, events };
}

describe("a summary", () => {
  it.each(PROVIDERS)("is not asked for where pruning makes the conversation fit: %s", async (name) => {
    provider = await startScriptedProvider({ windowTokens: 20_000, answer: () => DONE });
    const { model, session } = carryover(provider.model(name), { limits });
    const { text } = await generateText({ model, messages, tools: { read }, maxRetries: 0 });
    expect(text).toBe("Module 15.");
    expect(session.ledger().map(({ step }) => step)).toEqual(["prune"]);
    expect(provider.server.requests).toHaveLength(1);
    expect(provider.refusals()).toBe(0);
    expect(provider.faults()).toEqual([]);
  });

  it("is asked of the model itself, without tools, and stands in the next request", async () => {
    const { answer } = await ask({ summarize: () => summary(1) });
    expect((await answer).text).toBe("Module 15.");
    const [first, last] = provider.server.requests.map(({ body }) => body);
    expect(first?.tools).toBeUndefined();
    expect(JSON.stringify(first)).toContain("You keep the memory of an AI agent");
    expect(JSON.stringify(last?.messages)).toContain("Read every file.");
    expect(JSON.stringify(last?.messages)).toContain("Which module was the last one?");
    expect(provider.faults()).toEqual([]);
  });

  it.each(PROVIDERS)("says what it used, in an event, in the ledger and to onUsage: %s", async (name) => {
    const counts: number[] = [];
    provider = await startScriptedProvider({
      windowTokens: 20_000,
      answer: () => DONE,
      summarize({ count, inputTokens }) {
        counts.push(inputTokens);
        return summary(count);
      },
    });
    const told: SummaryUsage[] = [];
    const { model, session } = carryover(provider.model(name), {
      ...summed,
      onUsage: (used) => told.push(used),
      models: [{ names: [provider.model(name).modelId], prices: [{ input: 3, output: 15, cacheRead: 3 }] }],
    });
    await generateText({ model, messages, tools: { read }, maxRetries: 0 });
    expect(told.map(({ usage }) => usage.inputTokens)).toEqual(counts);
    expect(counts.length).toBeGreaterThan(0);
    expect(told[0]).toMatchObject({ counted: "provider", usage: { outputTokens: 60 } });
    expect(told[0]?.costUSD).toBeCloseTo(((counts[0] ?? 0) * 3 + 60 * 15) / 1e6, 10);
    const inLedger = session.ledger().map(({ summaryUsage }) => summaryUsage?.inputTokens ?? 0);
    expect(inLedger.reduce((sum, tokens) => sum + tokens)).toBe(counts.reduce((sum, tokens) => sum + tokens));
  });

  it("leaves the system prompt in the request", async () => {
    for (const api of ["openai-compatible", "anthropic"] as const) {
      provider = await startScriptedProvider({ windowTokens: 20_000, answer: () => DONE });
      const { model } = carryover(provider.model(api), summed);
      await generateText({ model, system: "Answer in rhymes.", messages, tools: { read } });
      expect(provider.server.requests).toHaveLength(2);
      expect(JSON.stringify(provider.server.requests.at(-1)?.body)).toContain("Answer in rhymes.");
      if (api === "openai-compatible") await provider.stop();
    }
  });

  it("can be asked of another model", async () => {
    const other = await startScriptedProvider({ summarize: () => summary(2) });
    const { answer } = await ask({}, { summarizer: other.model("anthropic") });
    await answer;
    await other.stop();
    expect(other.server.requests).toHaveLength(1);
    expect(provider.server.requests).toHaveLength(1);
  });

  it("is asked for in the product's own words, before the rules that always hold", async () => {
    const { answer } = await ask(
      {},
      {
        summarizer: {
          system: "You keep the file of a bank's client.",
          instructions: "## Wishes: all of them.",
        },
      },
    );
    await answer;
    const asked = JSON.stringify(provider.server.requests[0]?.body);
    expect(asked).toContain("You keep the file of a bank's client.\\nYou have no tools.");
    expect(asked).toContain("## Wishes: all of them.");
    expect(asked).toContain("Leave every secret out");
    expect(asked).not.toContain("agent. From the record");
    expect(asked).not.toContain("## Goal: what the user wants");
  });

  it("is asked of another model in these words", async () => {
    const other = await startScriptedProvider({ summarize: () => summary(2) });
    const { answer } = await ask(
      {},
      { summarizer: { model: other.model("anthropic"), instructions: "Write a limerick." } },
    );
    await answer;
    await other.stop();
    expect(JSON.stringify(other.server.requests.map(({ body }) => body))).toContain("Write a limerick.");
  });

  it("is asked for in the documented words in the documented profile", async () => {
    const { answer } = await ask({}, { profile: "documented", compaction: { toolSummaryStrategy: "off" } });
    await answer;
    const asked = JSON.stringify(provider.server.requests[0]?.body);
    expect(asked).toContain("You keep the memory of a coding agent. From the record");
  });

  it("can be written by code of one's own", async () => {
    const { answer } = await ask({}, { summarizer: { summarize: async () => "## Goal\nOur own words." } });
    await answer;
    expect(JSON.stringify(provider.server.requests.at(-1)?.body)).toContain("Our own words.");
  });

  it("is sent with the headers of the request it is for", async () => {
    provider = await startScriptedProvider({ windowTokens: 20_000, answer: () => DONE });
    const { model } = carryover(provider.model("openai-compatible"), summed);
    await generateText({ model, messages, tools: { read }, headers: { "x-tenant": "acme" } });
    expect(provider.server.requests.map(({ headers }) => headers["x-tenant"])).toEqual(["acme", "acme"]);
  });
});

describe("the progress of a compaction", () => {
  it.each(["anthropic", "openai-chat"] as const)("is told while the summary arrives: %s", async (name) => {
    const written = { ...summary(1), paceMs: 60 } as Reply;
    provider = await startScriptedProvider({
      windowTokens: 20_000,
      answer: () => DONE,
      summarize: () => written,
    });
    const events: SessionEvent[] = [];
    const { model } = carryover(provider.model(name), { ...summed, onEvent: (event) => events.push(event) });
    await generateText({ model, messages, tools: { read }, maxRetries: 0 });
    const types = events.map(({ type }) => type);
    const told = events.filter((event) => event.type === "compaction_progress");
    expect(types.indexOf("compaction_progress")).toBe(types.indexOf("compaction_start") + 1);
    expect(types.lastIndexOf("compaction_progress")).toBeLessThan(types.indexOf("compaction_end"));
    expect(told.map(({ step }) => step)).toEqual(told.map(({ step }) => step).toSorted());
    expect(new Set(told.map(({ doing }) => doing))).toEqual(new Set(["hooks", "summary", "check"]));
    const arrived = told.flatMap(({ doing, summaryChars }) => (doing === "summary" ? [summaryChars] : []));
    const wholeChars = "text" in written ? (written.text ?? "").length : 0;
    expect(arrived[0]).toBe(0);
    expect(arrived.some((chars) => chars > 0 && chars < wholeChars)).toBe(true);
    expect(told.at(-1)).toMatchObject({ step: 3, steps: 3, attempt: 1, summaryChars: wholeChars });
    // Ten pieces in over half a second, at most four events a second.
    expect(arrived.length).toBeLessThanOrEqual(2 + Math.ceil((wholeChars / 100 + 8) * 0.06 * 4 * 2));
  });

  it("begins anew with every request for a summary", async () => {
    const { answer, events } = await ask({
      summarize: ({ count }) => (count === 0 ? { type: "answer", text: "" } : summary(1)),
    });
    await answer;
    const told = events.filter((event) => event.type === "compaction_progress");
    // While a summary arrives, a slow machine is told so more than once.
    expect([...new Set(told.map(({ doing, attempt }) => `${doing} ${attempt}`))]).toEqual([
      "hooks 0",
      "summary 1",
      "summary 2",
      "check 2",
    ]);
  });
});

describe("a summarizer that fails", () => {
  const failures: Readonly<Record<string, Reply>> = {
    "with an error": { type: "refusal", status: 500, body: { error: { message: "out of order" } } },
    "with nothing": { type: "answer", text: "" },
    "with a refusal": { type: "answer", text: "I'm sorry, but I can't help with that." },
    "with a call": { type: "answer", calls: [{ tool: "read", input: {} }] },
    "with half a sentence": { type: "drop", text: "## Goal" },
    "with far too much": { type: "answer", text: "word ".repeat(60_000) },
  };

  it.each(Object.entries(failures))("%s costs the summary and not the answer", async (_, failure) => {
    const { answer, events } = await ask({ summarize: () => failure });
    expect((await answer).text).toBe("Module 15.");
    const ends = events.filter((event) => event.type === "compaction_end");
    expect(ends).toMatchObject([{ degraded: expect.any(String) }]);
    expect(provider.refusals()).toBe(0);
    expect(provider.faults()).toEqual([]);
  });

  it.each([
    ["before the first word", { type: "stall" }],
    ["in the middle", { type: "stall", text: "## Goal" }],
  ] as const)("by hanging %s is not waited for", async (_, stall) => {
    const clock = createFakeClock();
    const { answer, events } = await ask({ summarize: () => stall }, { clock });
    const isAsked = () => provider.server.requests.length > 0 && clock.waiting > 0;
    while (!isAsked()) await tick();
    let isOver = false;
    answer.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await clock.advance(10_000);
      await tick();
    }
    expect((await answer).text).toBe("Module 15.");
    expect(events.filter((event) => event.type === "compaction_end")).toMatchObject([
      { degraded: expect.any(String) },
    ]);
  });
});

function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
