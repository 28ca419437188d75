import { generateText, stepCountIs, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type CarryoverOptions, carryover } from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { PROVIDERS, type ProviderName, startScriptedProvider } from "./harness/scripted-provider.ts";
import { toolText } from "./harness/tool-texts.ts";

const STEPS = 40;
const PLAN = ["<plan>", "1. <b>Measure</b> & cut once.", toolText(7, 4_000), "</plan>"].join("\n");

/** A loop in a small window whose first step asks for the plan, beside another call. */
async function runLoop(name: ProviderName, options: CarryoverOptions) {
  const provider = await startScriptedProvider({
    windowTokens: 24_000,
    answer: ({ count }) =>
      count === STEPS
        ? { type: "answer", text: "Done." }
        : {
            type: "answer",
            text: `Step ${count}.`,
            calls: [
              { tool: "read", input: { path: `src/${count}.ts` } },
              ...(count === 0 ? [{ tool: "get_plan", input: {} }] : []),
            ],
          },
  });
  const events: SessionEvent[] = [];
  const { model, tools, session } = carryover(provider.model(name), {
    limits: { contextTokens: 24_000, outputTokens: 2_000 },
    onEvent: (event) => events.push(event),
    ...options,
  });
  let seed = 0;
  const read = tool({
    inputSchema: z.object({ path: z.string() }),
    execute: () => toolText(++seed, 9_000),
  });
  const get_plan = tool({ inputSchema: z.object({}), execute: () => PLAN });
  const { text } = await generateText({
    model,
    tools: { read, get_plan, ...tools },
    prompt: "Follow the plan.",
    stopWhen: stepCountIs(STEPS + 1),
    maxRetries: 0,
    providerOptions: { openai: { store: false } },
  });
  await provider.stop();
  const sent = provider.server.requests.filter(({ body }) => body.tools !== undefined).slice(1);
  const compactions = session
    .ledger()
    .filter(({ step, outcome }) => step === "compact" && outcome === "applied");
  return { text, provider, sent: sent.map(({ body }) => JSON.stringify(body)), compactions, events };
}

const quoted = JSON.stringify(PLAN).slice(1, -1);

describe("the option perTool, with the packages of the AI SDK", () => {
  // Set, because no tool is kept by default; the twin is the loop without it.
  it.each(PROVIDERS)("keeps an output word for word in every request: %s", async (name) => {
    const { text, provider, sent, events } = await runLoop(name, {
      perTool: { get_plan: { keep: "always" } },
    });
    expect(text).toBe("Done.");
    expect(sent.every((body) => body.includes(quoted))).toBe(true);
    expect(sent).toHaveLength(STEPS);
    expect([provider.refusals(), provider.faults()]).toEqual([0, []]);
    expect(events.filter((event) => event.type === "warning")).toEqual([]);
  });

  it.each(PROVIDERS)("keeps it through compactions: %s", async (name) => {
    const { text, provider, sent, compactions, events } = await runLoop(name, {
      perTool: { get_plan: { keep: "always" } },
      // Pruning spares such a loop the compactions (above).
      prune: "off",
    });
    expect(text).toBe("Done.");
    expect(compactions.length).toBeGreaterThan(3);
    expect(sent.every((body) => body.includes(quoted))).toBe(true);
    expect(sent).toHaveLength(STEPS);
    expect([provider.refusals(), provider.faults()]).toEqual([0, []]);
    expect(events.filter((event) => event.type === "warning")).toEqual([]);
  });

  it("loses it otherwise", async () => {
    const { sent } = await runLoop("anthropic", {});
    expect(sent.at(-1)).not.toContain(quoted);
  });

  it("trims a tool's outputs to its own maxChars", async () => {
    const { sent, provider } = await runLoop("openai-chat", { perTool: { read: { maxChars: 1_000 } } });
    expect(sent[0]).toContain(quoted);
    expect(sent[0]?.length).toBeLessThan(quoted.length + 4_500);
    expect([provider.refusals(), provider.faults()]).toEqual([0, []]);
  });
});
