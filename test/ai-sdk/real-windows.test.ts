import { APICallError, generateText, type ModelMessage } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { carryover } from "../../src/hosts/ai-sdk/carryover.ts";
import { prose } from "../rig/real-window.ts";
import { runs } from "../rig/runs.ts";
import { SUMMARY } from "../rig/session.ts";

const CHARS_PER_TOKEN = 4;

/** A provider that refuses nothing but what is longer than its window, requests for a summary too. */
function modelWithWindow(windowTokens: number, answers: readonly string[]) {
  let answered = 0;
  return new MockLanguageModelV3({
    async doGenerate({ prompt }) {
      const sentTokens = Math.ceil(countChars(prompt) / CHARS_PER_TOKEN);
      if (sentTokens > windowTokens)
        throw new APICallError({
          message: "prompt is too long",
          url: "http://127.0.0.1",
          requestBodyValues: {},
          statusCode: 400,
          isRetryable: false,
        });
      const isSummary = JSON.stringify(prompt[0]).includes("You keep the memory of a coding agent");
      const text = isSummary ? SUMMARY : (answers[answered++] ?? "");
      const outputTokens = Math.ceil(text.length / CHARS_PER_TOKEN);
      return {
        content: [{ type: "text", text }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: sentTokens, noCache: sentTokens, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
        },
        warnings: [],
      };
    },
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

const anyWindow = fc
  .double({ min: 3, max: Math.log10(2_000_000), noNaN: true })
  .map((power) => Math.round(10 ** power));
const anyOverheadShare = fc.double({ min: 0, max: 0.95, noNaN: true });
const anyTurns = fc.array(
  fc.record({ share: fc.double({ min: 0.01, max: 0.3, noNaN: true }), seed: fc.nat(9_000) }),
  { minLength: 4, maxLength: 10 },
);
const anyProfile = fc.constantFrom("default" as const, "documented" as const);

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
      { numRuns: runs(60) },
    );
  });
});
