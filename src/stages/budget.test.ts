import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyHistory } from "../../test/rig/random-history/opencode-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { deepFreeze, notate, transcript } from "../testing/notation.ts";
import { runStages } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import { renderMessage } from "../transcript/render.ts";
import { charBudget } from "./budget.ts";

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
    expect(() => charBudget({ maxChars: 511 })).toThrow(/maxChars is 511; give a number of 512 or more/);
    expect(() => charBudget({ maxChars: Number.NaN })).toThrow(/maxChars is NaN/);
  });

  it("holds for any history and any budget from 512 up", () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 512, max: 9_000 }), (history, maxChars) => {
        expect(chars(budget(opencode.decode(history), maxChars))).toBeLessThanOrEqual(maxChars);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it("says in each edit why, how much and where to recall it", () => {
    const edits = charBudget({ maxChars: 600 })(deepFreeze(transcript("u:400 a:900")));
    expect(edits).toEqual([
      {
        type: "hide-message",
        messageId: "m1",
        stage: "char-budget",
        reason: "over-budget",
        omitted: { chars: 400, handle: "m1" },
      },
      {
        type: "replace-part",
        messageId: "m2",
        partIndex: 0,
        part: expect.objectContaining({ type: "text" }),
        stage: "char-budget",
        reason: "oversize",
        omitted: { chars: expect.any(Number), handle: "m2/0" },
      },
    ]);
    const [, cut] = edits;
    const left = cut?.type === "replace-part" && cut.part.type === "text" ? cut.part.text.length : 0;
    expect(cut?.omitted?.chars).toBe(900 - left);
  });

  it("says of each dropped part why, how much and where to recall it", () => {
    const calls = Array.from({ length: 20 }, (_, n) => `${"t".repeat(100)}${n}?`).join(",");
    const edits = charBudget({ maxChars: 512 })(deepFreeze(transcript(`a(${calls})`)));
    expect(edits[0]).toEqual({
      type: "hide-part",
      messageId: "m1",
      partIndex: 0,
      what: "part",
      stage: "char-budget",
      reason: "oversize",
      omitted: { chars: `\nAgent:\n[Tool: ${"t".repeat(100)}0] {}`.length, handle: "m1/0" },
    });
    expect(edits).toHaveLength(16);
  });

  it("keeps a message that fits to the last character", () => {
    const exactly = transcript("u:250 a:247");
    const size = chars(exactly);
    expect(size).toBe(512);
    expect(charBudget({ maxChars: 512 })(exactly)).toEqual([]);
    expect(notate(budget(transcript("u:250 a:248"), 512))).toBe("a:248");
  });

  it("counts what is written around the messages, more when something is hidden", () => {
    const frameChars = (hidden: number) => (hidden === 0 ? 0 : 100);
    const left = (maxChars: number) =>
      notate(runStages(transcript("u:300 u:300 u:300"), [charBudget({ maxChars, frameChars })]).transcript);
    const one = chars(transcript("u:300"));
    expect(left(3 * one)).toBe("u:300 u:300 u:300");
    expect(left(3 * one - 1)).toBe("u:300 u:300");
    expect(left(2 * one + 100)).toBe("u:300 u:300");
    expect(left(2 * one + 99)).toBe("u:300");
  });

  it("hides what stands before a summary before it shortens anything", () => {
    expect(notate(budget(transcript("u:200 s:200 u:100 a:200"), 560))).toBe("s:200 u:100 a:200");
    expect(notate(budget(transcript("u:200 s:200 u:100 a:200"), 512))).toBe("s:200 a:200");
  });

  it("leaves alone what is not rendered", () => {
    const hidden = transcript("u:900 a:9 u:9").map((message, index) =>
      index === 0 ? { ...message, metadata: { agentVisible: false } } : message,
    );
    expect(charBudget({ maxChars: 512 })(hidden)).toEqual([]);
  });

  it("takes a way to render of the caller's own", () => {
    const render = () => "x".repeat(300);
    const edits = charBudget({ maxChars: 512, render })(transcript("u:1 u:1"));
    expect(edits.map(({ type }) => type)).toEqual(["hide-message"]);
  });

  it("shortens several texts to one length, also outputs and errors, and not what is cleared", () => {
    const messages = budget(transcript("a:2000(bash:2000,read!2000,read~2000,bash:10)"), 1_500);
    const lengths = [...notate(messages).matchAll(/(\d{2,})/g)].map(([, length]) => Number(length));
    expect(chars(messages)).toBeLessThanOrEqual(1_500);
    expect(chars(messages)).toBeGreaterThan(1_200);
    expect(new Set(lengths.slice(0, 3)).size).toBe(1);
    expect(lengths.slice(3)).toEqual([2000, 10]);
  });
});
