import { generateText, type ModelMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import {
  type CarryoverOptions,
  type CompactedConversation,
  carryover,
  type PersistedDelta,
  type Persistence,
} from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { createMemoryJournal } from "../../src/stores/memory/journal.ts";
import { createMemoryOutputStore } from "../../src/stores/memory/output-store.ts";
import { longConversation } from "./harness/conversation.ts";
import { type ScriptedProvider, startScriptedProvider } from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

let provider: ScriptedProvider;
afterEach(() => provider.stop());

const limits = { contextTokens: 20_000, outputTokens: 2_000 };
const history: ModelMessage[] = [
  ...longConversation({ turns: 16, outputBytes: 6_000 }),
  { role: "user", content: "Which module was the last one?" },
];

async function start(): Promise<void> {
  provider = await startScriptedProvider({
    windowTokens: 20_000,
    answer: () => ({ type: "answer", text: "Module 15." }),
  });
}

/** By default this history is pruned and fits; a summary, which is kept otherwise, comes only without that. */
const WAYS = [
  { how: "pruned, as by default", options: {}, step: "prune", asked: 0 },
  { how: "summed up", options: { prune: "off" }, step: "compact", asked: 1 },
] as const;

/** One request of a server that forgets everything between two of them. */
async function serve(messages: ModelMessage[], options: CarryoverOptions): Promise<ModelMessage[]> {
  const { model } = carryover(provider.model("openai-compatible"), { limits, ...options });
  const { response } = await generateText({ model, messages, tools: { read }, maxRetries: 0 });
  return [...messages, ...response.messages];
}

const lastMessages = (): readonly unknown[] =>
  provider.server.requests.at(-1)?.body.messages as readonly unknown[];
const summaries = (): number =>
  provider.server.requests.filter(({ body }) => body.tools === undefined).length;
const next = (messages: ModelMessage[]): ModelMessage[] => [
  ...messages,
  { role: "user", content: "And the first one?" },
];

describe("what onCompact hands over", () => {
  it.each(WAYS)(
    "gives, with all messages, the same window in another process: $how",
    async ({ options, asked }) => {
      await start();
      let saved = "";
      const messages = await serve(history, {
        ...options,
        onCompact: ({ state }) => {
          saved = JSON.stringify(state);
        },
      });
      const sent = lastMessages();
      await serve(next(messages), { ...options, restore: JSON.parse(saved) });
      expect(lastMessages().slice(0, sent.length)).toEqual(sent);
      expect(summaries()).toBe(asked);
      expect(provider.faults()).toEqual([]);
    },
  );

  it.each(WAYS)("can be kept in place of all messages: $how", async ({ options, asked }) => {
    await start();
    let kept: readonly ModelMessage[] = [];
    await serve(history, {
      ...options,
      onCompact({ messages }) {
        kept = messages;
      },
    });
    expect(JSON.stringify(kept).length).toBeLessThan(JSON.stringify(history).length / 2);
    const sent = lastMessages();
    await serve(next([...(JSON.parse(JSON.stringify(kept)) as ModelMessage[])]), options);
    expect(lastMessages().slice(0, sent.length)).toEqual(sent);
    expect(summaries()).toBe(asked);
    expect(provider.faults()).toEqual([]);
  });

  it.each(WAYS)(
    "is handed over only when something was edited, before the request is sent: $how",
    async ({ options, step }) => {
      await start();
      const handed: CompactedConversation[] = [];
      const { model } = carryover(provider.model("openai-compatible"), {
        limits,
        ...options,
        async onCompact(changed) {
          await new Promise((resolve) => setTimeout(resolve, 10));
          expect(provider.server.requests.filter(({ body }) => body.tools !== undefined)).toHaveLength(0);
          handed.push(changed);
        },
      });
      const first = await generateText({ model, messages: history, tools: { read } });
      await generateText({
        model,
        messages: next([...history, ...first.response.messages]),
        tools: { read },
      });
      expect(handed).toHaveLength(1);
      expect(handed[0]?.state.batches.map(({ step }) => step)).toEqual([step]);
    },
  );

  it("costs a warning and not the request when it cannot be kept", async () => {
    await start();
    const events: SessionEvent[] = [];
    const fail = () => {
      throw new Error("disk full");
    };
    await serve(history, { onCompact: fail, onEvent: (event) => events.push(event) });
    expect(lastMessages().length).toBeGreaterThan(1);
    expect(events).toContainEqual({
      type: "warning",
      code: "not-persisted",
      message: "onCompact threw: Error: disk full",
    });
  });
});

describe("persist", () => {
  it.each(WAYS)(
    "gives the same window in another process, from small values in any order: $how",
    async ({ options, asked }) => {
      await start();
      const rows: PersistedDelta[] = [];
      const persist: Persistence = {
        load: async () => rows.toReversed(),
        append: async (delta) => void rows.push(JSON.parse(JSON.stringify(delta))),
      };
      const messages = await serve(history, { ...options, persist });
      const sent = lastMessages();
      await serve(next(messages), { ...options, persist });
      expect(lastMessages().slice(0, sent.length)).toEqual(sent);
      expect(summaries()).toBe(asked);
      expect(rows.map(({ number }) => number)).toEqual(rows.map((_, index) => index + 1));
      expect(rows.length).toBeLessThan(3);
    },
  );

  it.each(WAYS)("goes on from a state that was kept by onCompact: $how", async ({ options, asked }) => {
    await start();
    let state: unknown;
    const rows: PersistedDelta[] = [];
    const persist: Persistence = { load: () => rows, append: (delta) => void rows.push(delta) };
    const messages = await serve(history, {
      ...options,
      onCompact(changed) {
        state = changed.state;
      },
    });
    const sent = lastMessages();
    await serve(messages.slice(0, -1), {
      ...options,
      restore: JSON.parse(JSON.stringify(state)),
      persist,
    });
    await serve(next(messages), { ...options, persist });
    expect(lastMessages().slice(0, sent.length)).toEqual(sent);
    expect(summaries()).toBe(asked);
  });

  it.each([
    ["hangs", () => new Promise<never>(() => {})],
    ["throws", () => Promise.reject(new Error("connection lost"))],
  ])(
    "that %s neither fails nor holds up a request for longer than its limit, and is told once",
    async (_, fail) => {
      await start();
      const events: SessionEvent[] = [];
      const startedAt = performance.now();
      const { model } = carryover(provider.model("openai-compatible"), {
        limits,
        // The default of 5 seconds would make the test wait; the clock is the only difference.
        persist: { load: fail, append: fail, timeoutMs: 50 },
        onEvent: (event) => events.push(event),
      });
      for (let request = 0; request < 3; request++)
        await generateText({ model, messages: history, tools: { read }, maxRetries: 0 });
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      expect(lastMessages().length).toBeGreaterThan(1);
      expect(
        events.filter((event) => event.type === "warning" && event.code === "not-persisted"),
      ).toHaveLength(1);
    },
  );

  it("is not taken beside a journal", async () => {
    await start();
    const persist = { load: () => [], append: () => undefined };
    const both = { persist, store: { journal: createMemoryJournal() } };
    expect(() => carryover(provider.model("openai-compatible"), both)).toThrow("give one of them");
    expect(() => carryover(provider.model("openai-compatible"), { persist: { load: 7 } as never })).toThrow(
      "persist.append",
    );
  });
});

describe("a store", () => {
  it.each(WAYS)(
    "is read at the first request, so that nothing is done twice: $how",
    async ({ options, asked }) => {
      await start();
      const store = { journal: createMemoryJournal(), outputs: createMemoryOutputStore() };
      const messages = await serve(history, { ...options, store });
      const sent = lastMessages();
      await serve(next(messages), { ...options, store });
      expect(lastMessages().slice(0, sent.length)).toEqual(sent);
      expect(summaries()).toBe(asked);
    },
  );

  it("is not needed: a state that makes no sense is a warning, and the session starts anew", async () => {
    await start();
    const events: SessionEvent[] = [];
    await serve(history, { restore: { v: 7, batches: "none" }, onEvent: (event) => events.push(event) });
    expect(events).toContainEqual(expect.objectContaining({ type: "warning", code: "journal-damaged" }));
    expect(provider.faults()).toEqual([]);
    expect(provider.refusals()).toBe(0);
  });

  it("does not stand in the way of an edited history: what no longer holds is dropped", async () => {
    await start();
    let state: unknown;
    await serve(history, {
      onCompact(changed) {
        state = changed.state;
      },
    });
    const edited = history.with(0, { role: "user", content: "Something else entirely." });
    await serve(edited, { restore: state });
    expect(provider.faults()).toEqual([]);
    expect(provider.refusals()).toBe(0);
    expect(JSON.stringify(lastMessages())).toContain("Which module was the last one?");
  });
});
