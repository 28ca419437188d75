import { describe, expect, it } from "vitest";
import { detectSilentOverflow, type ModelAnswer } from "./detect-silent-overflow.ts";

const ask = (answer: Partial<ModelAnswer>) =>
  detectSilentOverflow({ contextWindowTokens: 100_000, ...answer });

describe("detectSilentOverflow", () => {
  it.each<{ name: string; answer: Partial<ModelAnswer>; reason: string }>([
    {
      name: "usage above the window",
      answer: { usage: { input: 60_000, cacheRead: 50_000, output: 9 } },
      reason: "usage-over-window",
    },
    {
      name: "cache writes are part of the prompt",
      answer: { usage: { input: 60_000, cacheWrite: 50_000, output: 9 } },
      reason: "usage-over-window",
    },
    {
      name: "a length stop without a word on a full window",
      answer: { stopReason: "length", usage: { input: 99_000, output: 0 } },
      reason: "empty-answer",
    },
    {
      name: "the same stop under another name",
      answer: { stopReason: "MAX_TOKENS", usage: { input: 99_500, output: 0 } },
      reason: "empty-answer",
    },
    {
      name: "an empty answer above the window",
      answer: { stopReason: "stop", usage: { input: 101_000, output: 0 } },
      reason: "empty-answer",
    },
    {
      name: "a prompt that the server cut",
      answer: { sentEstimateTokens: 10_000, usage: { prompt_tokens: 5_999, completion_tokens: 8 } },
      reason: "truncated-prompt",
    },
    {
      name: "a stop reason that names the window",
      answer: { stopReason: "model_context_window_exceeded" },
      reason: "stop-reason",
    },
  ])("finds $name", ({ answer, reason }) => {
    expect(ask(answer)).toEqual({ isOverflow: true, reason });
  });

  it.each<{ name: string; answer: Partial<ModelAnswer>; reason?: string }>([
    {
      name: "an answer cut by its own limit",
      answer: { stopReason: "length", usage: { input: 12_000, output: 8_192 } },
    },
    {
      name: "a length stop on a window not quite full",
      answer: { stopReason: "length", usage: { input: 98_999, output: 0 } },
    },
    {
      name: "a short answer on a full window",
      answer: { stopReason: "stop", usage: { input: 99_900, output: 0 } },
    },
    {
      name: "cached input within the window",
      answer: { usage: { input: 1_000, cacheRead: 98_000, output: 500 } },
    },
    {
      name: "an estimate that was somewhat high",
      answer: { sentEstimateTokens: 10_000, usage: { input: 6_000, output: 1 } },
    },
    {
      name: "an estimate too small to prove anything",
      answer: { sentEstimateTokens: 900, usage: { input: 90, output: 1 } },
    },
    {
      name: "an unknown window",
      answer: { contextWindowTokens: 0, stopReason: "length", usage: { input: 9_000_000, output: 0 } },
    },
    { name: "missing usage", answer: { stopReason: "stop" } },
    { name: "malformed usage", answer: { usage: "many" } },
    {
      name: "absurd usage for a request that fits",
      answer: { sentEstimateTokens: 6_000, usage: { input: 1_870_000, output: 4 } },
      reason: "usage-anomaly",
    },
    {
      name: "absurd usage right after a compaction",
      answer: { moment: "just-compacted", usage: { input: 200_001, output: 4 } },
      reason: "usage-anomaly",
    },
  ])("does not take $name for an overflow", ({ answer, reason = "fits" }) => {
    expect(ask(answer)).toEqual({ isOverflow: false, reason });
  });

  it("takes usage of twice the window for true where nothing speaks against it", () => {
    expect(ask({ usage: { input: 250_000, output: 4 } })).toEqual({
      isOverflow: true,
      reason: "usage-over-window",
    });
    expect(ask({ moment: "just-compacted", usage: { input: 150_000, output: 4 } }).isOverflow).toBe(true);
  });
});
