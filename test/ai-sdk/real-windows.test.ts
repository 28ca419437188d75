import type { LanguageModelV3Prompt, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { APICallError, generateText, type ModelMessage, simulateReadableStream } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { carryover } from "../../src/hosts/ai-sdk/carryover.ts";
import { anyOverheadShare, anyProfile, anyTurns, anyWindow, prose } from "../rig/real-window.ts";
import { runs } from "../rig/runs.ts";
import { SUMMARY } from "../rig/session.ts";

const CHARS_PER_TOKEN = 4;
/** How a request for a summary begins, in each profile. */
const SUMMARIZER = "You keep the memory of ";

/** A provider that refuses nothing but what is longer than its window, requests for a summary too. */
function modelWithWindow(windowTokens: number, answers: readonly string[]) {
  let answered = 0;
  const finishReason = { unified: "stop", raw: "stop" } as const;
  const reply = (prompt: LanguageModelV3Prompt) => {
    const sentTokens = Math.ceil(countChars(prompt) / CHARS_PER_TOKEN);
    if (sentTokens > windowTokens) throw tooLong();
    const text = JSON.stringify(prompt).includes(SUMMARIZER) ? SUMMARY : (answers[answered++] ?? "");
    const outputTokens = Math.ceil(text.length / CHARS_PER_TOKEN);
    const usage = {
      inputTokens: { total: sentTokens, noCache: sentTokens, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
    };
    return { text, usage };
  };
  return new MockLanguageModelV3({
    async doGenerate({ prompt }) {
      const { text, usage } = reply(prompt);
      return { content: [{ type: "text", text }], finishReason, usage, warnings: [] };
    },
    async doStream({ prompt }) {
      const { text, usage } = reply(prompt);
      const chunks: LanguageModelV3StreamPart[] = [
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: text },
        { type: "text-end", id: "0" },
        { type: "finish", finishReason, usage },
      ];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
}

function tooLong(): APICallError {
  return new APICallError({
    message: "prompt is too long",
    url: "http://127.0.0.1",
    requestBodyValues: {},
    statusCode: 400,
    isRetryable: false,
  });
}

/** The characters of every text in a value, wherever it stands. */
function countChars(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce(
    (chars, [name, each]) => chars + (name === "role" || name === "type" ? 0 : countChars(each)),
    0,
  );
}

/** The system prompt was not counted behind a fold, which was taken for small enough. */
const LOCAL_SUMMARY_BESIDE_A_LONG_SYSTEM_PROMPT: [
  number,
  number,
  { share: number; seed: number }[],
  "default",
  boolean,
] = [
  1_000,
  0.857,
  [0.126, 0.056, 0.084, 0.105, 0.105, 0.014, 0.287, 0.035, 0.01].map((share, turn) => ({
    share,
    seed: turn === 7 ? 646 : 0,
  })),
  "default",
  false,
];

describe("a conversation that the provider accepts", () => {
  it("is never given up by the middleware, whatever the window and the system prompt", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyWindow,
        anyOverheadShare,
        anyTurns,
        anyProfile,
        fc.boolean(),
        async (windowTokens, share, turns, profile, isKnown) => {
          const freeTokens = windowTokens - Math.floor(windowTokens * share);
          const system = prose(windowTokens - freeTokens);
          const answers = turns.map((turn) => prose(Math.floor(freeTokens * turn.share), turn.seed + 1));
          // A window that nobody names is learned from refusals.
          const limits = { contextTokens: windowTokens, outputTokens: 4_096 };
          const { model } = carryover(modelWithWindow(windowTokens, answers), {
            profile,
            ...(isKnown && { limits }),
          });
          const messages: ModelMessage[] = [];
          for (const [turn, { share: part, seed }] of turns.entries()) {
            messages.push({ role: "user", content: prose(Math.floor((freeTokens * part) / 4), seed) });
            const { text } = await generateText({ model, system, messages, maxRetries: 0 });
            expect(text).toBe(answers[turn]);
            messages.push({ role: "assistant", content: text });
          }
        },
      ),
      { numRuns: runs(40, 12), examples: [LOCAL_SUMMARY_BESIDE_A_LONG_SYSTEM_PROMPT] },
    );
  });
});

describe("pins in the middleware", () => {
  it("are in every request after any number of compactions, though the summarizer ignores them", async () => {
    const windowTokens = 16_000;
    const answers = Array.from({ length: 40 }, (_, turn) => prose(1_500, turn));
    const base = modelWithWindow(windowTokens, answers);
    // The window of this model is in no table.
    const limits = { contextTokens: windowTokens, outputTokens: 1_000 };
    const { model, session } = carryover(base, { limits, pins: [{ text: "Never push to main." }] });
    const messages: ModelMessage[] = [{ role: "user", content: "The port is 4711. #pin" }];
    for (const _ of answers) {
      const { text } = await generateText({ model, messages, maxRetries: 0 });
      messages.push({ role: "assistant", content: text }, { role: "user", content: "Go on." });
    }
    const calls = [...base.doGenerateCalls, ...base.doStreamCalls];
    const sent = calls.map(({ prompt }) => JSON.stringify(prompt));
    const ofTurns = sent.filter((prompt) => !prompt.includes(SUMMARIZER));
    expect(sent.length - ofTurns.length).toBeGreaterThan(2);
    for (const prompt of ofTurns) expect(prompt.split("The port is 4711. #pin")).toHaveLength(2);
    expect(ofTurns.at(-1)?.split("Never push to main.")).toHaveLength(2);
    expect(session.status().batches.length).toBeGreaterThan(0);
  });
});
