import { generateText, type ModelMessage, modelMessageSchema, stepCountIs } from "ai";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { aiSdk } from "../../src/formats/wires/ai-sdk/ai-sdk.ts";
import type { AiSdkWire } from "../../src/formats/wires/ai-sdk/ai-sdk-message.ts";
import { randomMessagesToSend } from "../rig/random-history/random-messages-to-send.ts";
import { runs } from "../rig/runs.ts";
import { SUMMARY, startSession } from "../rig/session.ts";
import { PROVIDERS, type ScriptedProvider, startScriptedProvider } from "./harness/scripted-provider.ts";
import { read } from "./harness/tools.ts";

describe("the messages to send encoded for the AI SDK", () => {
  it("is what the SDK's own schema takes", () => {
    const schema = z.array(modelMessageSchema);
    fc.assert(
      fc.property(randomMessagesToSend(), (transcript) => {
        // Assignable without a cast.
        const messages: ModelMessage[] = aiSdk.encode(transcript);
        schema.parse(messages);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

let provider: ScriptedProvider;
afterEach(() => provider?.stop());

describe.each(PROVIDERS)("an agent of one's own on a session, by %s", (name) => {
  it("sends what the session projects, through several compactions", async () => {
    provider = await startScriptedProvider({ windowTokens: 12_000, answer });
    // Below the scripted model's window: here nobody tells the session what the provider counted.
    const limits = { contextTokens: 10_000, outputTokens: 1_000 };
    let summaries = 0;
    const summarizer = { summarize: async () => `${SUMMARY} Summary ${++summaries}.` };
    const { session } = startSession({ limits }, { summarizer });
    const messages: ModelMessage[] = [];
    for (let turn = 0; turn < 24; turn++) {
      messages.push({ role: "user", content: `Question ${turn}: what is in module ${turn}?` });
      for (;;) {
        session.observe(aiSdk.decode(messages as AiSdkWire));
        await session.prepare();
        const { response, finishReason } = await generateText({
          model: provider.model(name),
          messages: aiSdk.encode(session.messages()),
          tools: { read },
          stopWhen: stepCountIs(1),
        });
        messages.push(...response.messages);
        if (finishReason !== "tool-calls") break;
      }
    }
    expect(summaries).toBeGreaterThan(1);
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
