import { describe, expect, it } from "vitest";
import { estimateContextTokens } from "../transcript/estimate-context.ts";
import type { Message, ModelRef, Transcript, Usage } from "../transcript/message.ts";
import {
  beginEpoch,
  estimateOptionsOf,
  FRESH_MEASURE,
  type MeasureFacts,
  type MeasureState,
  scaledFor,
} from "./measure.ts";

const OPUS = { provider: "anthropic", id: "claude-opus-4-6" };
const FABLE = { provider: "anthropic", id: "claude-fable-5" };
const OUTPUT = "const answer = compute(question);\n".repeat(60);

const usageOf = (inputTokens: unknown): Usage => ({
  inputTokens: inputTokens as number,
  outputTokens: 5,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});

/** Answers of one model; the provider counts so many tokens for each of ours, or whatever `count` makes of that. */
function answers(model: ModelRef, factor: number, count = (tokens: number): unknown => tokens) {
  return (before: Transcript): Message => {
    const { tokens } = estimateContextTokens(before, {
      estimator: "calibrated",
      model,
      epochStartIndex: Number.POSITIVE_INFINITY,
    });
    const id = `m${before.length}`;
    return {
      id,
      role: "assistant",
      model,
      usage: usageOf(count(Math.round(5_000 + tokens * factor))),
      parts: [
        {
          type: "tool",
          callId: `call-${id}`,
          tool: "read",
          input: { path: `src/${id}.ts` },
          outcome: { status: "done", output: OUTPUT, attachments: [] },
        },
      ],
    };
  };
}

/** A window that models answer in turn, and what a session learns from it. */
function learningWith(model: ModelRef) {
  let messages: Transcript = [{ id: "task", role: "user", parts: [{ type: "text", text: "go" }] }];
  let state: MeasureState = FRESH_MEASURE;
  const facts = (asked: ModelRef): MeasureFacts => ({
    estimator: "calibrated",
    model: asked,
    contextWindowTokens: 0,
  });
  const window = () => ({ marked: messages, compactedCount: 0 });
  return {
    add(steps: number, answer: (before: Transcript) => Message): void {
      for (let step = 0; step < steps; step++) messages = [...messages, answer(messages)];
    },
    /** The window changes, and another model may be asked from then on. */
    change(asked: ModelRef, next = asked): void {
      state = scaledFor(beginEpoch(state, { ended: window(), begun: window() }, facts(asked)), next);
    },
    options: (asked = model) => estimateOptionsOf(state, facts(asked)),
    scale: (asked = model): number | undefined =>
      estimateOptionsOf(scaledFor(state, asked), facts(asked)).calibration?.scale,
  };
}

describe("what usage teaches", () => {
  it("is the scale of the model that was counted", () => {
    const { add, change, scale } = learningWith(OPUS);
    add(30, answers(OPUS, 1.3));
    change(OPUS);
    expect(scale()).toBeGreaterThan(1.3);
    expect(scale()).toBeLessThan(1.6);
    expect(scale(FABLE)).toBeUndefined();
  });

  it("is learned of the model that is asked where messages name none, as in formats without it", () => {
    const { add, change, scale } = learningWith(OPUS);
    const named = answers(OPUS, 1.3);
    add(30, (before) => {
      const { model: _, ...message } = named(before);
      return message;
    });
    change(OPUS, FABLE);
    expect(scale(OPUS)).toBeGreaterThan(1.3);
    expect(scale(FABLE)).toBeUndefined();
  });

  it("stays with its model: another one begins with its family, and the first finds its own again", () => {
    const { add, change, scale, options } = learningWith(OPUS);
    add(20, answers(OPUS, 1.3));
    change(OPUS, FABLE);
    const ofOpus = scale(OPUS);
    expect(options(FABLE)).toMatchObject({ family: "claude-4.7" });
    expect(options(FABLE).calibration).toBeUndefined();
    add(20, answers(FABLE, 0.8));
    change(FABLE);
    expect(scale(FABLE)).toBeLessThan(1.65);
    expect(scale(OPUS)).toBe(ofOpus);
  });

  it("waits for the next change of the window, so that estimates can be compared", () => {
    const { add, options } = learningWith(OPUS);
    add(5, answers(OPUS, 1.3));
    expect(options().calibration).toBeUndefined();
  });

  it.each<{ name: string; count: (tokens: number) => unknown }>([
    { name: "nothing at all", count: () => 0 },
    { name: "no number", count: () => Number.NaN },
    { name: "less than nothing", count: (tokens) => -tokens },
    { name: "a text", count: (tokens) => String(tokens) },
    { name: "ten times what is there", count: (tokens) => 10 * tokens },
    {
      name: "only what was not in the cache",
      count: (tokens) => (tokens < 5_100 ? tokens : 600 + (tokens % 3) * 400),
    },
    { name: "always the same", count: () => 9_000 },
  ])("is nothing from a provider that counts $name", ({ count }) => {
    const { add, change, scale } = learningWith(OPUS);
    add(20, answers(OPUS, 1, count));
    change(OPUS);
    expect(scale()).toBeUndefined();
  });
});
