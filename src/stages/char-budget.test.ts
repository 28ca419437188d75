import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyHistory } from "../../test/support/opencode-arbitrary.ts";
import { runs } from "../../test/support/runs.ts";
import { opencode } from "../formats/opencode/opencode.ts";
import { deepFreeze } from "../testing/deep-freeze.ts";
import { notate, transcript } from "../testing/notation.ts";
import type { Transcript } from "../transcript/message.ts";
import { renderMessage } from "../transcript/render.ts";
import { runStages } from "../transcript/run-stages.ts";
import { charBudget } from "./char-budget.ts";

const budget = (messages: Transcript, maxChars: number) =>
  runStages(deepFreeze(messages), [charBudget({ maxChars })]).transcript;
const chars = (messages: Transcript) =>
  messages.reduce((sum, message) => sum + renderMessage(message).length, 0);

describe("charBudget", () => {
  it.each([
    { name: "hides the oldest first", before: "u:400 a:400 u:400", maxChars: 600, after: "u:400" },
    {
      name: "stops as soon as the rest fits",
      before: "u:400 a:400 u:400",
      maxChars: 850,
      after: "a:400 u:400",
    },
    {
      name: "never hides a summary (DA-4)",
      before: "s:300 u:400 a:100",
      maxChars: 600,
      after: "s:300 a:100",
    },
    { name: "hides a call together with its output", before: "a(bash:900) u:5", maxChars: 600, after: "u:5" },
    { name: "hides nothing that fits", before: "u:100 a:100", maxChars: 600, after: "u:100 a:100" },
  ])("$name", ({ before, maxChars, after }) => {
    expect(notate(budget(transcript(before), maxChars))).toBe(after);
  });

  it("shortens the newest message when it alone is too long (DA-3)", () => {
    const messages = budget(transcript("u:500000"), 200_000);
    expect(chars(messages)).toBeLessThanOrEqual(200_000);
    expect(chars(messages)).toBeGreaterThan(199_000);
  });

  it("shortens the largest text and leaves small ones alone", () => {
    const messages = budget(transcript("s:90 a:50(bash:500000,read:70)"), 200_000);
    expect(notate(messages)).toMatch(/^s:90 a:50\(bash:199\d{3},read:70\)$/);
  });

  it("drops parts, oldest first, when calls alone are too long (FORK-52)", () => {
    const calls = Array.from({ length: 256 }, (_, n) => `${"t".repeat(100)}${n}:10`).join(",");
    const messages = budget(transcript(`a(${calls})`), 2_000);
    expect(chars(messages)).toBeLessThanOrEqual(2_000);
    expect(notate(messages)).toContain("t255:");
    expect(notate(messages)).not.toContain("t0:");
  });

  it("rejects a budget that could not hold a notice", () => {
    expect(() => charBudget({ maxChars: 511 })).toThrow(/at least 512/);
    expect(() => charBudget({ maxChars: Number.NaN })).toThrow(/at least 512/);
  });

  it("holds for any history and any budget from 512 up", () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 512, max: 9_000 }), (history, maxChars) => {
        expect(chars(budget(opencode.decode(history), maxChars))).toBeLessThanOrEqual(maxChars);
      }),
      { numRuns: runs(1_000) },
    );
  });
});
