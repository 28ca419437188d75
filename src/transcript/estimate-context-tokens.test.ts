import { describe, expect, it } from "vitest";
import { deepFreeze, transcript as notated } from "../../test/rig/notation.ts";
import type { TokenFamily } from "../text/tokens/estimate-tokens.ts";
import { type ContextEstimateOptions, estimateContextTokens } from "./estimate-context.ts";
import { estimateMessageTokens, startCalibration } from "./estimate-message.ts";
import type { Message, Transcript, Usage } from "./message.ts";
import type { Part } from "./part.ts";

const usage = (change: Partial<Usage> = {}): Usage => ({
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  ...change,
});

/** A transcript in notation, with some messages changed. */
function transcript(notation: string, changes: Readonly<Record<number, Partial<Message>>> = {}): Transcript {
  return deepFreeze(notated(notation).map((message, index) => ({ ...message, ...changes[index] })));
}

const tokensOf = (messages: Transcript): number =>
  messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);

describe("estimateContextTokens without usage", () => {
  it("adds up the messages that the model can see", () => {
    const messages = transcript("u:41 a:9 u:400", { 2: { metadata: { agentVisible: false } } });
    expect(estimateContextTokens(messages)).toMatchObject({
      tokens: 11 + 3,
      source: "heuristic",
      usageTokens: 0,
      trailingTokens: 14,
      lastUsageIndex: -1,
    });
  });

  it("adds the system prompt and the tool definitions", () => {
    const messages = transcript("u:400");
    const { tokens } = estimateContextTokens(messages, { systemChars: 8000, toolsChars: 20_001 });
    expect(tokens).toBe(100 + Math.ceil(28_001 / 4));
  });

  it("is nothing for nothing", () => {
    expect(estimateContextTokens([])).toEqual({
      tokens: 0,
      low: 0,
      high: 0,
      source: "heuristic",
      usageTokens: 0,
      trailingTokens: 0,
      lastUsageIndex: -1,
    });
  });
});

describe("estimateContextTokens with usage", () => {
  it("adds estimates of all later messages to the newest usage", () => {
    const messages = transcript("u:400 a:40 u:80 a:40 u:44", {
      1: { usage: usage({ totalTokens: 5000 }) },
      3: { usage: usage({ totalTokens: 7000 }) },
    });
    expect(estimateContextTokens(messages)).toMatchObject({
      tokens: 7011,
      source: "usage",
      usageTokens: 7000,
      trailingTokens: 11,
      lastUsageIndex: 3,
    });
  });

  it.each([
    { name: "the provider's total", counts: { inputTokens: 5, totalTokens: 900 }, tokens: 900 },
    {
      name: "the sum of its fields when there is no total",
      counts: {
        inputTokens: 100,
        outputTokens: 20,
        cacheReadTokens: 3000,
        cacheWriteTokens: 400,
        reasoningTokens: 7,
      },
      tokens: 3520,
    },
    {
      name: "the sum of its fields when the total is 0",
      counts: { inputTokens: 10, totalTokens: 0 },
      tokens: 10,
    },
  ])("takes $name", ({ counts, tokens }) => {
    expect(estimateContextTokens(transcript("u:4 a:4", { 1: { usage: usage(counts) } })).usageTokens).toBe(
      tokens,
    );
  });

  it("counts the results of the calls that this usage could not know", () => {
    const messages = transcript("u:400 a:40(bash:4000,read:400)", {
      1: { usage: usage({ totalTokens: 1000 }) },
    });
    expect(estimateContextTokens(messages)).toMatchObject({ tokens: 1000 + 1100, trailingTokens: 1100 });
  });

  it("does not add the system prompt again", () => {
    const messages = transcript("u:4 a:4", { 1: { usage: usage({ totalTokens: 1000 }) } });
    expect(estimateContextTokens(messages, { systemChars: 90_000, toolsChars: 90_000 }).tokens).toBe(1000);
  });

  it.each<{ name: string; change: Partial<Message> }>([
    { name: "stopped with an error", change: { finish: "error" } },
    { name: "was aborted", change: { finish: "aborted" } },
    { name: "carries an error", change: { error: { name: "APIError", text: "overloaded" } } },
    { name: "is hidden from the model", change: { metadata: { agentVisible: false } } },
    { name: "is a user's", change: { role: "user" } },
    { name: "counted nothing", change: { usage: usage() } },
    { name: "counted nonsense", change: { usage: usage({ totalTokens: Number.NaN, inputTokens: -3 }) } },
    { name: "is the summary of an older context", change: { summary: true } },
  ])("skips a message that $name", ({ change }) => {
    const messages = transcript("u:400 a:40 u:40 a:40", {
      3: { usage: usage({ totalTokens: 9000 }), ...change },
    });
    expect(estimateContextTokens(messages)).toMatchObject({ source: "heuristic", lastUsageIndex: -1 });
    expect(estimateContextTokens(messages).tokens).toBe(tokensOf(messages));
  });

  it("goes back to older usage when the newest answer failed", () => {
    const messages = transcript("u:400 a:40 u:40 a:80", {
      1: { usage: usage({ totalTokens: 9000 }) },
      3: { usage: usage({ totalTokens: 1 }), error: { name: "Aborted", text: "" } },
    });
    expect(estimateContextTokens(messages)).toMatchObject({ tokens: 9000 + 10 + 20, lastUsageIndex: 1 });
  });
});

describe("estimateContextTokens after the context changed", () => {
  it("does not believe usage from before the epoch, so that a compaction triggers no second one", () => {
    const messages = transcript("u:400 a:40 u:44", { 1: { usage: usage({ totalTokens: 190_000 }) } });
    expect(estimateContextTokens(messages).tokens).toBe(190_011);
    expect(estimateContextTokens(messages, { epochStartIndex: messages.length })).toMatchObject({
      tokens: tokensOf(messages),
      source: "heuristic",
    });
  });

  it("believes usage again once the epoch has some of its own", () => {
    const messages = transcript("u:400 a:40 u:44 a:8", {
      1: { usage: usage({ totalTokens: 190_000 }) },
      3: { usage: usage({ totalTokens: 2000 }) },
    });
    expect(estimateContextTokens(messages, { epochStartIndex: 3 })).toMatchObject({
      tokens: 2000,
      lastUsageIndex: 3,
    });
  });

  it("does not believe usage from before a summary, even when nobody names the epoch", () => {
    const messages = transcript("u:400 a:40 m s:60 u:44", { 1: { usage: usage({ totalTokens: 190_000 }) } });
    expect(estimateContextTokens(messages).source).toBe("heuristic");
  });

  it("keeps believing it when the summary failed", () => {
    const messages = transcript("u:400 a:40 m s:60", {
      1: { usage: usage({ totalTokens: 190_000 }) },
      3: { error: { name: "APIError", text: "" } },
    });
    expect(estimateContextTokens(messages).usageTokens).toBe(190_000);
  });

  it("does not believe usage from before an output was cleared", () => {
    const later = { usage: usage({ totalTokens: 190_000 }) };
    const cleared = { createdAt: 10 };
    const notation = "u:4 a:4(bash~90000) u:4 a:4";
    const before = transcript(notation, { 1: cleared, 3: { ...later, createdAt: 0 } });
    const after = transcript(notation, { 1: cleared, 3: { ...later, createdAt: 20 } });
    expect(estimateContextTokens(before).source).toBe("heuristic");
    expect(estimateContextTokens(after).source).toBe("usage");
  });

  it("does not believe the usage of another model", () => {
    const model = { provider: "openai", id: "gpt-5" };
    const other = { provider: "anthropic", id: "claude-opus-4-6" };
    const messages = transcript("u:400 a:40", { 1: { usage: usage({ totalTokens: 9000 }), model } });
    expect(estimateContextTokens(messages, { model }).source).toBe("usage");
    expect(estimateContextTokens(messages, { model: other }).source).toBe("heuristic");
    expect(estimateContextTokens(messages).source).toBe("usage");
  });

  it("does not believe usage from before a switch to another model and back", () => {
    const model = { provider: "openai", id: "gpt-5" };
    const other = { provider: "anthropic", id: "claude-opus-4-6" };
    const messages = transcript("u:400 a:40 u:4 a:4 u:4", {
      1: { usage: usage({ totalTokens: 9000 }), model },
      3: { model: other },
    });
    expect(estimateContextTokens(messages, { model }).source).toBe("heuristic");
  });
});

describe("the interval of a context estimate", () => {
  it("is no wider than what was estimated", () => {
    const messages = transcript("u:400 a:40 u:4000", { 1: { usage: usage({ totalTokens: 9000 }) } });
    const { low, tokens, high } = estimateContextTokens(messages, { estimator: "calibrated" });
    expect(low).toBeGreaterThanOrEqual(9000);
    expect(low).toBeLessThan(tokens);
    expect(high).toBeGreaterThan(tokens);
  });

  it("is wider for chars / 4 than for the calibrated estimate, and wider for a model that was not measured", () => {
    const messages = transcript("u:40000");
    const width = (options: ContextEstimateOptions): number => {
      const { low, tokens, high } = estimateContextTokens(messages, options);
      return (high - low) / tokens;
    };
    const measured = width({ estimator: "calibrated" });
    expect(width({})).toBeGreaterThan(measured);
    expect(width({ estimator: "calibrated", model: { provider: "x", id: "qwen3" } })).toBeGreaterThan(
      measured,
    );
  });

  it("follows the spread that the session has seen", () => {
    const messages = transcript("u:40000");
    const calibration = startCalibration("m", "claude");
    const of = (spread: number) =>
      estimateContextTokens(messages, { estimator: "calibrated", calibration: { ...calibration, spread } });
    expect(of(0.02).high).toBeLessThan(of(0.3).high);
    expect(of(0.02).low).toBeGreaterThan(of(0.3).low);
  });

  it("is what the caller says for an estimator of one's own", () => {
    const estimator = (text: string): number => text.length;
    const exact = { low: 1, high: 1 };
    expect(estimateContextTokens(transcript("u:50"), { estimator, interval: exact })).toMatchObject({
      low: 50,
      tokens: 50,
      high: 50,
    });
  });
});

describe("thoughts of earlier turns", () => {
  const thought: Part = { type: "reasoning", text: "", sealedChars: 10_000 };
  const thoughtful = (notation: string, ...at: readonly number[]): Transcript =>
    transcript(notation, Object.fromEntries(at.map((index) => [index, { parts: [thought] }])));
  const tokens = (messages: Transcript, family: TokenFamily, options: ContextEstimateOptions = {}) =>
    estimateContextTokens(messages, { estimator: "calibrated", family, ...options }).tokens;

  it("are counted where the model reads them again, and those of the running turn everywhere", () => {
    const messages = thoughtful("u:9 a u:9 a a", 1, 3, 4);
    const words = tokens(transcript("u:9 a u:9 a a"), "claude");
    expect(tokens(messages, "claude")).toBe(words + 7200);
    expect(tokens(messages, "claude-3.7")).toBe(words + 4800);
    expect(tokens(messages.slice(0, 2), "claude-3.7")).toBe(tokens(messages.slice(0, 2), "claude"));
  });

  it("end with a message of the user that the model sees, not with a hidden one", () => {
    const messages = thoughtful("u:9 a u:9", 1);
    const hidden = messages.with(2, { ...(messages[2] as Message), metadata: { agentVisible: false } });
    expect(tokens(hidden, "gpt") - tokens(messages, "gpt")).toBeGreaterThan(2300);
  });

  it("stay in what the provider counted until it counts again", () => {
    const model = { provider: "p", id: "m" };
    const counted = thoughtful("u:9 a u:9", 1).map((message, index) =>
      index === 1 ? { ...message, usage: usage({ totalTokens: 5000 }), model } : message,
    );
    expect(tokens(counted, "claude-3.7", { model })).toBe(
      5000 + tokens(transcript("u:9 a u:9").slice(2), "claude"),
    );
  });

  it("count as all text does in the documented estimate", () => {
    const spoken: Part = { type: "reasoning", text: "x".repeat(400) };
    const messages = transcript("u:40 a u:40", { 1: { parts: [spoken] } });
    expect(estimateContextTokens(messages, { family: "claude-3.7" }).tokens).toBe(120);
  });
});

describe("what stands around the messages", () => {
  it("counts by the family of a calibrated estimate, or as the session has learned", () => {
    const chars = { systemChars: 4_000, toolsChars: 4_000 };
    const tokens = (options: ContextEstimateOptions) =>
      estimateContextTokens([], { ...chars, ...options }).tokens;
    expect(tokens({ family: "claude" })).toBe(2_000);
    expect(tokens({ family: "claude", estimator: "calibrated" })).toBe(2_260);
    const calibration = { ...startCalibration("m", "gpt"), scale: 1.5 };
    expect(tokens({ calibration })).toBe(3_000);
    expect(tokens({ systemChars: -9, toolsChars: 8 })).toBe(2);
  });
});

describe("usage of a model", () => {
  const one = { provider: "p", id: "m" };
  const answer = { usage: usage({ inputTokens: 500 }), model: one };

  it.each([
    { name: "the same model", model: { provider: "p", id: "m" }, source: "usage" },
    { name: "the same name at another provider", model: { provider: "q", id: "m" }, source: "heuristic" },
    { name: "another name at the same provider", model: { provider: "p", id: "n" }, source: "heuristic" },
  ])("counts for $name: $source", ({ model, source }) => {
    const messages = transcript("u:9 a:9", { 1: answer });
    expect(estimateContextTokens(messages, { model }).source).toBe(source);
  });

  it("counts when an output was cleared at that very moment, and not when it was later", () => {
    const cleared = (clearedAt: number) =>
      transcript("u:9 a(read:9) a:9", {
        1: {
          parts: (notated("a(read:9)")[0]?.parts ?? []).map((part) => ({
            ...part,
            clearedAt,
          })) as Message["parts"],
        },
        2: { ...answer, createdAt: 50 },
      });
    expect(estimateContextTokens(cleared(50)).source).toBe("usage");
    expect(estimateContextTokens(cleared(51)).source).toBe("heuristic");
  });
});
