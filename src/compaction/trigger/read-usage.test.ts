import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readUsage } from "./read-usage.ts";

const read = (raw: unknown) => readUsage(raw);

describe("readUsage", () => {
  it.each([
    {
      name: "its own shape",
      raw: {
        inputTokens: 1,
        outputTokens: 2,
        reasoningTokens: 3,
        cacheReadTokens: 4,
        cacheWriteTokens: 5,
        totalTokens: 15,
      },
    },
    { name: "OpenCode", raw: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 }, total: 15 } },
    {
      name: "Anthropic",
      raw: {
        input_tokens: 1,
        output_tokens: 2,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 5,
        total_tokens: 15,
        reasoning_tokens: 3,
      },
    },
    {
      name: "Bedrock",
      raw: {
        inputTokens: 1,
        outputTokens: 2,
        cacheReadInputTokens: 4,
        cacheWriteInputTokens: 5,
        totalTokens: 15,
        reasoningTokens: 3,
      },
    },
    {
      name: "the AI SDK",
      raw: {
        inputTokens: 1,
        outputTokens: 2,
        totalTokens: 15,
        reasoningTokens: 3,
        inputTokenDetails: { cacheReadTokens: 4, cacheWriteTokens: 5 },
      },
    },
    {
      name: "the AI SDK's nested totals",
      raw: {
        inputTokens: { total: 1, cacheRead: 4, cacheWrite: 5 },
        outputTokens: { total: 2, reasoning: 3 },
        totalTokens: 15,
      },
    },
  ])("reads the usage of $name", ({ raw }) => {
    expect(read(raw)).toEqual({
      inputTokens: 1,
      outputTokens: 2,
      reasoningTokens: 3,
      cacheReadTokens: 4,
      cacheWriteTokens: 5,
      totalTokens: 15,
    });
  });

  it.each([
    {
      name: "OpenAI chat",
      raw: { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 80 } },
    },
    {
      name: "OpenAI responses",
      raw: { input_tokens: 100, output_tokens: 7, input_tokens_details: { cached_tokens: 80 } },
    },
    { name: "Gemini", raw: { promptTokenCount: 100, candidatesTokenCount: 7, cachedContentTokenCount: 80 } },
    { name: "DeepSeek", raw: { prompt_tokens: 100, completion_tokens: 7, prompt_cache_hit_tokens: 80 } },
  ])("cached tokens that $name counts in the input are counted once", ({ raw }) => {
    expect(readUsage(raw, { inputIncludesCached: "yes" })).toMatchObject({
      inputTokens: 20,
      cacheReadTokens: 80,
      outputTokens: 7,
    });
    expect(readUsage(raw)).toMatchObject({ inputTokens: 100, cacheReadTokens: 80 });
  });

  it("never subtracts more than there is", () => {
    const raw = { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 80 } };
    expect(readUsage(raw, { inputIncludesCached: "yes" })).toMatchObject({
      inputTokens: 0,
      cacheReadTokens: 80,
    });
  });

  it("leaves a missing total out", () => {
    expect(read({ prompt_eval_count: 9, eval_count: 3 })).not.toHaveProperty("totalTokens");
  });

  it("gives nothing for what is no usage, and never throws", () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    for (const raw of [
      undefined,
      null,
      4,
      "x",
      [],
      {},
      { input: {} },
      { input: "a lot" },
      { input: Number.POSITIVE_INFINITY },
      hostile,
    ]) {
      expect(read(raw)).toBeUndefined();
    }
    fc.assert(fc.property(fc.anything({ withNullPrototype: true }), (raw) => void readUsage(raw)));
  });

  it("every count it gives is 0 or more", () => {
    const value = fc.oneof(fc.double(), fc.integer(), fc.string(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.record({ input: value, output: value, cacheRead: value, total: value }), (raw) => {
        for (const tokens of Object.values(readUsage(raw) ?? {})) expect(tokens >= 0).toBe(true);
      }),
    );
  });
});
