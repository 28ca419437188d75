import { generateText, type ModelMessage, modelMessageSchema, stepCountIs } from "ai";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { aiSdk } from "../../src/formats/wires/ai-sdk/ai-sdk.ts";
import type { AiSdkWire } from "../../src/formats/wires/ai-sdk/ai-sdk-message.ts";
import { findAnthropicFaults } from "../../src/formats/wires/anthropic/find-faults.ts";
import { findGeminiFaults } from "../../src/formats/wires/gemini/find-faults.ts";
import { findOpenAIChatFaults } from "../../src/formats/wires/openai-chat/find-faults.ts";
import { findOpenAIResponsesFaults } from "../../src/formats/wires/openai-responses/find-faults.ts";
import { type RecordedApi, recordRequest } from "../rig/ai-sdk-requests.ts";
import { randomProjection } from "../rig/random-history/random-projection.ts";
import { runs } from "../rig/runs.ts";
import { startSession } from "../rig/session.ts";
import { PROVIDERS, type ScriptedProvider, startScriptedProvider } from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

const FIND_FAULTS: Readonly<Record<RecordedApi, (body: unknown) => readonly unknown[]>> = {
  anthropic: (body) => findAnthropicFaults(body),
  "openai-chat": (body) => findOpenAIChatFaults(body),
  "openai-responses": (body) => findOpenAIResponsesFaults(body),
  gemini: (body) => findGeminiFaults(body),
};

describe("a projection encoded for the AI SDK", () => {
  it("is what the SDK's own schema takes", () => {
    const schema = z.array(modelMessageSchema);
    fc.assert(
      fc.property(randomProjection(), (transcript) => {
        // Assignable without a cast.
        const messages: ModelMessage[] = aiSdk.encode(transcript);
        schema.parse(messages);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it.each(Object.keys(FIND_FAULTS) as readonly RecordedApi[])(
    "becomes a request without fault in the real provider of %s",
    async (api) => {
      const check = async (messages: readonly ModelMessage[]): Promise<void> => {
        const request = await recordRequest(api, { messages, allowSystemInMessages: true });
        expect(FIND_FAULTS[api](request)).toEqual([]);
      };
      const property = fc.asyncProperty(randomProjection(), (transcript) => check(aiSdk.encode(transcript)));
      await fc.assert(property, { numRuns: runs(100) });
    },
  );
});

let provider: ScriptedProvider;
afterEach(() => provider?.stop());

describe.each(PROVIDERS)("an agent of one's own on a session, by %s", (name) => {
  it("sends what the session projects, through several compactions", async () => {
    provider = await startScriptedProvider({ windowTokens: 12_000, answer });
    // The window is that of the scripted model.
    const { session } = startSession({ limits: { contextTokens: 12_000, outputTokens: 1_000 } });
    const messages: ModelMessage[] = [];
    for (let turn = 0; turn < 24; turn++) {
      messages.push({ role: "user", content: `Question ${turn}: what is in module ${turn}?` });
      for (;;) {
        session.observe(aiSdk.decode(messages as AiSdkWire));
        await session.prepare();
        const { response, finishReason } = await generateText({
          model: provider.model(name),
          messages: aiSdk.encode(session.projection()),
          tools: { read },
          stopWhen: stepCountIs(1),
        });
        messages.push(...response.messages);
        if (finishReason !== "tool-calls") break;
      }
    }
    expect(session.toJSON().batches.filter(({ step }) => step === "compact").length).toBeGreaterThan(1);
    expect(provider.refusals()).toBe(0);
    expect(provider.faults()).toEqual([]);
  });
});

/** Every other request is answered by a call, the others by a long text. */
function answer({ count }: { readonly count: number }) {
  return count % 2 === 0
    ? ({ type: "answer", calls: [{ tool: "read", input: { path: `src/${count}.ts` } }] } as const)
    : ({ type: "answer", text: `It is in order. ${"Steady words. ".repeat(400)}` } as const);
}
