import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, type ModelMessage, stepCountIs, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type CarryoverOptions, carryover } from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { startModelServer } from "../rig/model-server/model-server.ts";
import { runToolLoop } from "./harness/tool-loop.ts";

// The rule of the newest Claude models, over HTTP and with the packages of the AI SDK, default options.
describe("a long tool loop on a model that binds its thoughts", { timeout: 300_000 }, () => {
  it.each([
    { way: "generate", parallel: 1 },
    { way: "stream", parallel: 3 },
  ] as const)(
    "is never refused, though it is edited: $way, $parallel calls a step",
    async ({ way, parallel }) => {
      const report = await runToolLoop({
        ...{ provider: "anthropic", way, parallel, thinking: "bound" },
        ...{ steps: 60, leastBytes: 40_000, mostBytes: 60_000, windowTokens: 1_000_000 },
        carryover: {},
      });
      expect(report).toMatchObject({ text: "All files are read.", refusals: 0, faults: [] });
      const lost = report.ledger.map(({ thoughtsLost = 0 }) => thoughtsLost);
      expect(Math.max(...lost)).toBeGreaterThan(0);
    },
  );
});

/** A conversation that reads files, step by step, against a provider of its own. */
async function startReader(given: { readonly refusals: "none" | "expected" }) {
  const server = await startModelServer({
    thinking: "bound",
    judge: ({ body }) =>
      body.tools === undefined
        ? { type: "answer", text: "## Goal\nRead all files.\n## Done\nSome.\n## Next\nRead on." }
        : { type: "answer", text: "On.", calls: [{ tool: "read", input: { path: "src/a.ts" } }] },
  });
  const base = createAnthropic({ apiKey: "k", baseURL: server.url })("claude-opus-5-5");
  const events: SessionEvent[] = [];
  let messages: ModelMessage[] = [{ role: "user", content: "Read all files." }];
  let wrapped = carryover(base);
  let seed = 0;
  const read = tool({
    inputSchema: z.object({ path: z.string() }),
    execute: () =>
      Array.from({ length: 700 }, (_, line) => `export const v${++seed} = compute(${line});`).join("\n"),
  });
  return {
    events,
    server,
    session: () => wrapped.session,
    open(options: CarryoverOptions = {}) {
      wrapped = carryover(base, { onEvent: (event) => events.push(event), ...options });
    },
    async steps(count: number, request: Partial<Parameters<typeof generateText>[0]> = {}) {
      for (let step = 0; step < count; step++) {
        const { response } = await generateText({
          ...{ model: wrapped.model, tools: { read, ...wrapped.tools }, messages, maxRetries: 0 },
          ...{ stopWhen: stepCountIs(1), system: "You read code." },
          ...request,
        } as Parameters<typeof generateText>[0]);
        messages = [...messages, ...response.messages];
      }
    },
    async stop() {
      const refusals = server.thinking.takeRefusals();
      await server.stop();
      if (given.refusals === "none") expect(refusals).toEqual([]);
      return refusals.length;
    },
  };
}

describe("a conversation with thoughts", { timeout: 120_000 }, () => {
  it("goes on in the call that was refused, where the rule of its model is not known, and in the next process", async () => {
    const reader = await startReader({ refusals: "expected" });
    // Nothing says of this model that it binds its thoughts.
    const models = [{ names: ["claude-opus-5-5"], afterEdit: "kept" }] as const;
    reader.open({ models });
    await reader.steps(45);
    expect(reader.server.thinking.takeRefusals()).toHaveLength(1);
    const state: unknown = JSON.parse(JSON.stringify(reader.session().toJSON()));
    reader.open({ models, restore: state });
    await reader.steps(5);
    expect(await reader.stop()).toBe(0);
  });

  it("that an earlier build left refused for good goes on", async () => {
    const reader = await startReader({ refusals: "none" });
    reader.open();
    await reader.steps(40);
    const { thoughts: _, ...state } = JSON.parse(JSON.stringify(reader.session().toJSON()));
    expect(state.batches.length).toBeGreaterThan(0);
    reader.open({ restore: state });
    await reader.steps(5);
    await reader.stop();
  });

  it("tells of thoughts that the provider drops because the application changed its tools", async () => {
    const reader = await startReader({ refusals: "none" });
    reader.open();
    const thinking = { type: "adaptive", blockBinding: { prefixMismatchBehavior: "drop_block" } };
    const providerOptions = { anthropic: { thinking } };
    await reader.steps(3, { providerOptions });
    const write = tool({ inputSchema: z.object({ path: z.string() }) });
    await reader.steps(2, { providerOptions, tools: { write } as never });
    await reader.stop();
    const told = reader.events.filter(
      (event) => event.type === "warning" && event.code === "thoughts-dropped",
    );
    expect(told).toMatchObject([{ message: expect.stringContaining("3 of the model's earlier thoughts") }]);
  });
});
