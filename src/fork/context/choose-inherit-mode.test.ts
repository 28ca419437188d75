import { describe, expect, it } from "vitest";
import type { Message, Transcript } from "../../transcript/message.ts";
import {
  breakEvenSteps,
  chooseInheritMode,
  FULL_COPY_MAX_AGE_MS,
  type InheritFacts,
  overheadTokens,
} from "./choose-inherit-mode.ts";

const FACTS: InheritFacts = {
  setting: "auto",
  hook: "seen",
  receiver: "same",
  lastRequestAgeMs: 1_000,
  fullTokens: 60_000,
  trimmedTokens: 40_000,
  fixedTokens: 10_000,
  windowTokens: 200_000,
  cacheReadPrice: 0.1,
  cacheWritePrice: 1.25,
  finishedSteps: [],
};

describe("chooseInheritMode", () => {
  it.each<{ name: string; change: Partial<InheritFacts>; mode: string; reason: RegExp }>([
    {
      name: "the same agent and model, a young view: exact",
      change: {},
      mode: "full",
      reason: /^the parent's cached prefix is the cheapest up to 23 steps, and 12 are expected$/,
    },
    {
      name: "another agent: trimmed",
      change: { receiver: "other-agent" },
      mode: "trimmed",
      reason: /the child's system prompt is its own/,
    },
    {
      name: "another model: trimmed",
      change: { receiver: "other-model" },
      mode: "trimmed",
      reason: /another model/,
    },
    {
      name: "another provider: trimmed, whatever is configured",
      change: { receiver: "other-provider", setting: "full" },
      mode: "trimmed",
      reason: /redacted/,
    },
    {
      name: "a view at the age limit: exact",
      change: { lastRequestAgeMs: FULL_COPY_MAX_AGE_MS },
      mode: "full",
      reason: /cheapest/,
    },
    {
      name: "a view past the age limit: trimmed",
      change: { lastRequestAgeMs: FULL_COPY_MAX_AGE_MS + 1 },
      mode: "trimmed",
      reason: /270 s old/,
    },
    {
      name: "exactly half of the window: exact",
      change: { fullTokens: 90_000, trimmedTokens: 89_000 },
      mode: "full",
      reason: /cheapest/,
    },
    {
      name: "more than half of the window: trimmed",
      change: { fullTokens: 90_001 },
      mode: "trimmed",
      reason: /half of the child's window/,
    },
    {
      name: "as many steps as the break-even: exact",
      change: { fullTokens: 30_000, trimmedTokens: 20_000, cacheReadPrice: 1, cacheWritePrice: 7 },
      mode: "full",
      reason: /up to 12 steps, and 12 are expected/,
    },
    {
      name: "more steps than a fork makes are not counted",
      change: { cacheReadPrice: 0.000_1 },
      mode: "full",
      reason: /^the parent's cached prefix is the cheapest for as many steps as a fork makes$/,
    },
    {
      name: "children that take many steps: trimmed",
      change: { finishedSteps: [20, 30, 40] },
      mode: "trimmed",
      reason: /^a shorter prefix is cheaper beyond 23 steps, and 30 are expected$/,
    },
    {
      name: "the median of an even number of forks",
      change: { finishedSteps: [40, 4, 20, 30] },
      mode: "trimmed",
      reason: /25 are expected/,
    },
    {
      name: "one long child among short ones does not change the choice",
      change: { finishedSteps: [3, 900, 4] },
      mode: "full",
      reason: /4 are expected/,
    },
    {
      name: "a pipeline that cuts nothing: exact",
      change: { trimmedTokens: 60_000 },
      mode: "full",
      reason: /nothing can be left out/,
    },
    {
      name: "a provider without a cache: trimmed when it is shorter",
      change: { cacheReadPrice: 1, cacheWritePrice: 1 },
      mode: "trimmed",
      reason: /^a shorter prefix is cheaper from the first step on$/,
    },
    {
      name: "no price is known, so nothing is saved by leaving something out: exact",
      change: { cacheReadPrice: 0, cacheWritePrice: 0, finishedSteps: [1] },
      mode: "full",
      reason: /no price is known/,
    },
    {
      name: "one step is expected: said in the singular",
      change: { finishedSteps: [1] },
      mode: "full",
      reason: /up to 23 steps, and 1 is expected$/,
    },
    {
      name: "one step is the break-even: said in the singular",
      change: { fullTokens: 30_000, trimmedTokens: 15_000, cacheReadPrice: 1, cacheWritePrice: 2 },
      mode: "trimmed",
      reason: /beyond 1 step, and 12 are expected$/,
    },
    { name: "no hook: text", change: { hook: "missing" }, mode: "text", reason: /did not show/ },
    {
      name: "no hook: text, even if exact is configured",
      change: { hook: "missing", setting: "full" },
      mode: "text",
      reason: /did not show/,
    },
    { name: "text when configured", change: { setting: "text" }, mode: "text", reason: /configuration/ },
    {
      name: "trimmed when configured",
      change: { setting: "trimmed" },
      mode: "trimmed",
      reason: /configuration/,
    },
    {
      name: "exact when configured, though the view is old",
      change: { setting: "full", lastRequestAgeMs: 1e9 },
      mode: "full",
      reason: /configuration/,
    },
    {
      name: "configured exact still has to fit",
      change: { setting: "full", fullTokens: 190_000 },
      mode: "trimmed",
      reason: /half/,
    },
  ])("$name", ({ change, mode, reason }) => {
    const choice = chooseInheritMode({ ...FACTS, ...change });
    expect(choice.mode).toBe(mode);
    expect(choice.reason).toMatch(reason);
  });

  it("does not forbid full when the window is unknown", () => {
    const { windowTokens: _, ...unknown } = { ...FACTS, fullTokens: 900_000, trimmedTokens: 899_000 };
    expect(chooseInheritMode(unknown).mode).toBe("full");
  });

  it("puts the break-even where both ways cost the same", () => {
    const full = 80_000;
    const trimmed = 50_000;
    const steps = breakEvenSteps({
      fullTokens: full,
      trimmedTokens: trimmed,
      cacheReadPrice: 0.1,
      cacheWritePrice: 1.25,
    });
    const exactCost = steps * 0.1 * full;
    const trimmedCost = 1.25 * trimmed + (steps - 1) * 0.1 * trimmed;
    expect(exactCost).toBeCloseTo(trimmedCost, 6);
  });

  it.each([
    { name: "nothing is saved", change: { trimmedTokens: 100 }, steps: Number.POSITIVE_INFINITY },
    { name: "more is written", change: { trimmedTokens: 150 }, steps: Number.POSITIVE_INFINITY },
    { name: "reading is free", change: { cacheReadPrice: 0 }, steps: Number.POSITIVE_INFINITY },
    {
      name: "no price is known",
      change: { cacheReadPrice: 0, cacheWritePrice: 0 },
      steps: Number.POSITIVE_INFINITY,
    },
  ])("knows the break-even when $name", ({ change, steps }) => {
    const facts = { fullTokens: 100, trimmedTokens: 50, cacheReadPrice: 1, cacheWritePrice: 2 };
    expect(breakEvenSteps({ ...facts, ...change })).toBe(steps);
  });
});

describe("overheadTokens", () => {
  const tokensOf = (messages: Transcript): number => messages.length * 10;

  function answer(id: string, inputTokens: number, change: Partial<Message> = {}): Message {
    const usage = {
      inputTokens,
      outputTokens: 1,
      reasoningTokens: 0,
      cacheReadTokens: 50,
      cacheWriteTokens: 5,
    };
    return { id, role: "assistant", parts: [], usage, ...change };
  }

  const question: Message = { id: "u", role: "user", parts: [] };

  it("is what the newest answer's request counted beyond the messages before it", () => {
    expect(overheadTokens([question, answer("a", 20), answer("b", 100)], tokensOf)).toBe(135);
  });

  it("is not read from the request of a summary, which holds other messages", () => {
    const list = [question, answer("a", 20), answer("s", 900, { summary: true })];
    expect(overheadTokens(list, tokensOf)).toBe(65);
  });

  it("is nothing where nothing was counted, and never less", () => {
    expect(overheadTokens([question], tokensOf)).toBe(0);
    expect(overheadTokens([question, answer("a", 0)], tokensOf)).toBe(0);
    expect(overheadTokens(Array.from({ length: 30 }, () => question).concat(answer("a", 20)), tokensOf)).toBe(
      0,
    );
  });
});
