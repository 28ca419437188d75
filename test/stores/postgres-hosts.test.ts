import { generateText, type ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { carryover } from "../../src/ai-sdk.ts";
import { createSession, type Session } from "../../src/session/session.ts";
import { createSystemClock } from "../../src/stores/system-clock.ts";
import type { Transcript } from "../../src/transcript/message.ts";
import { longConversation } from "../ai-sdk/harness/conversation.ts";
import { startScriptedProvider } from "../ai-sdk/harness/scripted-provider.ts";
import { read } from "../ai-sdk/harness/tools.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();

describe.skipIf(postgres === undefined)("a conversation that moves to another machine", () => {
  it("has the same window there, and what was cut is recalled from the database", async () => {
    const schema = postgres?.newSchema() ?? "";
    const here = openSession(schema);
    here.observe(transcript);
    await here.prepare();
    expect(here.edits().length).toBeGreaterThan(0);

    const there = openSession(schema);
    await there.restore(transcript);
    expect(there.edits()).toEqual(here.edits());
    const handle = /handle(?: and sha256)? (\w{64})/.exec(JSON.stringify(there.messages()))?.[1] ?? "";
    expect(await there.recall(handle, { fromLine: 2_001, toLine: 2_002 })).toMatchObject({
      status: "found",
      text: "line 2000 of a long log\nline 2001 of a long log\n",
    });
  });

  it("keeps its outputs from cleaning until it is released", async () => {
    const schema = postgres?.newSchema() ?? "";
    const here = openSession(schema);
    here.observe(transcript);
    await here.prepare();
    const stores = postgres?.open(schema);
    const everything = { maxBytes: 0, maxAgeMs: 0, minAgeMs: 0 };
    expect(await stores?.clean(everything)).toMatchObject({ removedOutputs: 0, keptOutputs: 1 });
    await stores?.release(SESSION);
    expect(await stores?.clean(everything)).toMatchObject({ removedOutputs: 1 });
  });

  it.each([
    { title: "is pruned once", options: {}, summaries: 0 },
    // By default pruning alone makes room here, and no summary would be asked for.
    { title: "is compacted once", options: { prune: "off" } as const, summaries: 1 },
  ])("$title, whichever machine the AI SDK runs on", async ({ options, summaries }) => {
    const schema = postgres?.newSchema() ?? "";
    const provider = await startScriptedProvider({
      windowTokens: 20_000,
      answer: () => ({ type: "answer", text: "Module 15." }),
    });
    const serve = async (messages: ModelMessage[]): Promise<ModelMessage[]> => {
      const store = postgres?.open(schema).session("conversation");
      const { model } = carryover(provider.model("openai-compatible"), {
        limits: { contextTokens: 20_000, outputTokens: 2_000 },
        ...options,
        ...(store && { store }),
      });
      const { response } = await generateText({ model, messages, tools: { read }, maxRetries: 0 });
      return [...messages, ...response.messages];
    };
    const sent = () => provider.server.requests.at(-1)?.body.messages as readonly unknown[];
    try {
      const messages = await serve([
        ...longConversation({ turns: 16, outputBytes: 6_000 }),
        { role: "user", content: "Which module was the last one?" },
      ]);
      const window = sent();
      await serve([...messages, { role: "user", content: "And the first one?" }]);
      expect(sent().slice(0, window.length)).toEqual(window);
      expect(JSON.stringify(window).length).toBeLessThan(16 * 6_000);
      expect(provider.server.requests.filter(({ body }) => body.tools === undefined)).toHaveLength(summaries);
      expect(provider.faults()).toEqual([]);
    } finally {
      await provider.stop();
    }
  });
});

const SESSION = "ses_moving";
const output = Array.from({ length: 4_000 }, (_, line) => `line ${line} of a long log\n`).join("");
const transcript: Transcript = [
  { id: "ask", role: "user", parts: [{ type: "text", text: "Build it." }] },
  {
    id: "call",
    role: "assistant",
    finish: "tool-calls",
    parts: [
      {
        type: "tool",
        callId: "call-1",
        tool: "bash",
        input: { command: "make" },
        outcome: { status: "done", output, attachments: [] },
      },
    ],
  },
];

/** A session as another machine would open it. */
function openSession(schema: string): Session {
  const { outputs, journal } = postgres?.open(schema).session(SESSION) ?? {};
  return createSession(
    { clock: createSystemClock(), ...(outputs && { outputs }), ...(journal && { journal }) },
    { limits: { contextTokens: 200_000, outputTokens: 8_000 } },
  );
}
