import { generateText, type ModelMessage, stepCountIs, tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type CarryoverOptions, carryover, compact } from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import type { Reply } from "../rig/model-server/step.ts";
import { longConversation } from "./harness/conversation.ts";
import { type ScriptedProvider, startScriptedProvider } from "./harness/scripted-provider.ts";
import { toolText } from "./harness/tool-texts.ts";
import { read } from "./harness/tools.ts";

let provider: ScriptedProvider;
afterEach(() => provider.stop());

const limits = { contextTokens: 20_000, outputTokens: 2_000 };
const STEPS = 24;
const TITLE = "Write a title of five words.";
const SEARCH = "You search the web.";

/** Answers by what it is asked for: the loop lists folders, the sub-agent searches, a title is a title. */
function answerTo({ body }: { readonly body: Record<string, unknown> }): Reply {
  const text = JSON.stringify(body);
  if (text.includes(TITLE)) return { type: "answer", text: "Folders and what they hold." };
  const calls = text.match(/"function":\{"name":/g)?.length ?? 0;
  if (text.includes(SEARCH))
    return calls < 4
      ? { type: "answer", calls: [{ tool: "web", input: { query: `q${calls}` } }] }
      : { type: "answer", text: "Found." };
  return listed < STEPS
    ? { type: "answer", calls: [{ tool: "list", input: { folder: `src/${listed}` } }] }
    : { type: "answer", text: "All listed." };
}

let listed = 0;
let searched = 0;

async function start(): Promise<void> {
  listed = 0;
  searched = 0;
  provider = await startScriptedProvider({ windowTokens: 20_000, answer: answerTo as never });
}

/** A loop whose tool asks the same model for a title, and sends a sub-agent out. */
async function loop(
  others: "none" | "title and sub-agent",
  { searchChars = 400, ...options }: CarryoverOptions & { readonly searchChars?: number } = {},
) {
  const events: SessionEvent[] = [];
  const { model, tools, session } = carryover(provider.model("openai-compatible"), {
    limits,
    ...options,
    onEvent: (event) => void events.push(event),
  });
  const web = tool({
    inputSchema: z.object({ query: z.string() }),
    execute: () => toolText(++searched, searchChars),
  });
  const list = tool({
    inputSchema: z.object({ folder: z.string() }),
    async execute() {
      listed++;
      if (others !== "none" && listed % 4 === 0) {
        const before = JSON.stringify(session.toJSON());
        await generateText({ model, system: TITLE, prompt: "List every folder.", maxRetries: 0 });
        await generateText({
          model,
          system: SEARCH,
          prompt: `Look up folder ${listed}.`,
          tools: { web },
          stopWhen: stepCountIs(6),
          maxRetries: 0,
        });
        expect(JSON.stringify(session.toJSON())).toBe(before);
      }
      return toolText(listed, 6_000);
    },
  });
  const { text } = await generateText({
    model,
    system: "You list folders.",
    tools: { list, ...tools },
    prompt: "List every folder.",
    stopWhen: stepCountIs(STEPS + 2),
    maxRetries: 0,
  });
  expect(text).toBe("All listed.");
  return { session, events };
}

describe("a wrapped model that a title and a sub-agent use too", () => {
  it.each([
    { how: "pruned, as by default", step: "prune", options: {} },
    // By default pruning spares most compactions of such a loop.
    { how: "summed up", step: "compact", options: { prune: "off" } },
  ] as const)(
    "keeps its conversation as if they were not there, and sends them as they came: $how",
    async ({ step: expected, options }) => {
      await start();
      const alone = await loop("none", options);
      const steps = alone.session.ledger().map(({ step }) => step);
      await provider.stop();
      await start();
      const { session, events } = await loop("title and sub-agent", options);
      expect(session.ledger().map(({ step }) => step)).toEqual(steps);
      expect(steps.filter((step) => step === expected).length).toBeGreaterThan(1);
      expect(provider.refusals()).toBe(0);
      expect(provider.faults()).toEqual([]);
      const told = events.filter((event) => event.type === "warning").map(({ code }) => code);
      expect(told).toEqual(["other-conversation"]);
      const titles = provider.server.requests.filter(({ body }) => JSON.stringify(body).includes(TITLE));
      expect(titles).toHaveLength(STEPS / 4);
      expect(titles[0]?.body.messages).toEqual([
        { role: "system", content: TITLE },
        { role: "user", content: "List every folder." },
      ]);
    },
  );

  it("looks after a sub-agent that grows too long, in a session of its own", async () => {
    await start();
    const { session } = await loop("title and sub-agent", { searchChars: 30_000 });
    expect(provider.refusals()).toBe(0);
    expect(provider.faults()).toEqual([]);
    expect(session.ledger().filter(({ step }) => step === "prune").length).toBeGreaterThan(1);
  });

  it("recovers a request of others that is refused", async () => {
    await start();
    const { model, session } = carryover(provider.model("openai-compatible"), {
      limits: { contextTokens: 200_000, outputTokens: 2_000 },
    });
    await generateText({ model, system: "You list folders.", prompt: "Hello.", tools: { read } });
    const messages: ModelMessage[] = [
      ...longConversation({ turns: 16, outputBytes: 6_000 }),
      { role: "user", content: "And now?" },
    ];
    const { text } = await generateText({ model, system: TITLE, messages, tools: { read }, maxRetries: 0 });
    expect(text).toBe("Folders and what they hold.");
    expect(session.ledger()).toEqual([]);
    expect(provider.refusals()).toBeGreaterThan(0);
  });

  it("does not use up what there is to restore for a check before the turn", async () => {
    await start();
    const base = provider.model("openai-compatible");
    const messages: ModelMessage[] = [
      ...longConversation({ turns: 16, outputBytes: 6_000 }),
      { role: "user", content: "And now?" },
    ];
    const { state } = await compact(messages, { model: base, limits });
    const before = provider.server.requests.length;
    const { model, session } = carryover(base, { limits, restore: state });
    await generateText({ model, system: TITLE, prompt: "And now?" });
    await generateText({ model, system: TITLE, messages, tools: { read } });
    expect(provider.server.requests.length - before).toBe(2);
    expect(session.toJSON().batches).toEqual(state.batches);
  });
});
