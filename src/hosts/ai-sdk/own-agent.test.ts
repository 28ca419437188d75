import { simulateReadableStream, streamText } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, it } from "vitest";
import { aiSdk, answerFacts, createModelSummarizer, createRecallTool } from "../../ai-sdk.ts";
import { createSession } from "../../session/session.ts";
import { createSystemClock } from "../../stores/system-clock.ts";

const usage = {
  inputTokens: { total: 100, noCache: 40, cacheRead: 60, cacheWrite: 0 },
  outputTokens: { total: 7, text: 7, reasoning: 0 },
};
const saying = (text: string) =>
  new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "0" },
          { type: "text-delta", id: "0", delta: text },
          { type: "text-end", id: "0" },
          { type: "finish", finishReason: { unified: "stop", raw: "end_turn" }, usage },
        ],
      }),
    }),
  });

/** What an agent on `createSession` needs, where it calls the model of the AI SDK itself. */
describe("an agent of one's own", () => {
  it("gives the session what the model counted: cached tokens are counted once", async () => {
    const { fullStream } = streamText({ model: saying("hi"), prompt: "hello" });
    const facts = [];
    for await (const part of fullStream) if (part.type === "finish-step") facts.push(answerFacts(part));
    expect(facts[0]).toMatchObject({
      finish: "stop",
      usage: { inputTokens: 40, cacheReadTokens: 60, outputTokens: 7 },
    });
  });

  it("has summaries written by a model without tools, and hears that they arrive", async () => {
    const model = saying("## Goal\nGo on.");
    let arrivals = 0;
    const summary = await createModelSummarizer(model).summarize(
      { system: "Sum up.", prompt: "All of it.", maxOutputTokens: 500 },
      { signal: new AbortController().signal, onProgress: () => arrivals++ },
    );
    expect(summary).toBe("## Goal\nGo on.");
    expect(arrivals).toBeGreaterThan(0);
    expect(model.doStreamCalls[0]?.tools).toBeUndefined();
  });

  it("gives the model a tool to read again what left its window", async () => {
    const session = createSession({ clock: createSystemClock() });
    session.observe(aiSdk.decode([{ role: "user", content: "the port is 8081" }]));
    const [message] = session.transcript();
    const recall = createRecallTool(session);
    const options = { toolCallId: "1", messages: [] };
    expect(await recall.execute?.({ handle: message?.id ?? "" }, options)).toContain("the port is 8081");
  });
});
