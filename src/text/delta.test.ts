import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeDelta, encodeDelta } from "./delta.ts";

const LINES = Array.from({ length: 200 }, (_, line) => `${line}: what line ${line * 7919} says 🎈`);
const whole = LINES.join("\n");

describe("a text as a difference from another", () => {
  it.each([
    ["both ends of it", `${whole.slice(0, 900)}\n[left out]\n${whole.slice(-900)}`],
    ["some of its lines", LINES.filter((_, line) => line % 17 < 2).join("\n")],
    ["what repeats itself", "the same words over and over again. ".repeat(40)],
  ])("takes a fraction of the room for %s", (_, text) => {
    const delta = encodeDelta(text, whole);
    expect(decodeDelta(delta, whole)).toBe(text);
    expect(JSON.stringify(delta).length).toBeLessThan(text.length / 2);
  });

  it("gives the text again, whatever both are, and is well-formed where they are", () => {
    const pieces = fc.array(fc.constantFrom("abcdefgh", "🎈🎈🎈🎈", "\n", "src/index.ts:12", "é", "\ud800"));
    const random = fc.oneof(
      fc.string({ unit: "binary" }),
      pieces.map((list) => list.join("")),
    );
    fc.assert(
      fc.property(random, random, (text, base) => {
        const delta = encodeDelta(text, base);
        expect(decodeDelta(JSON.parse(JSON.stringify(delta)), base)).toBe(text);
        if (!text.isWellFormed()) return;
        for (const piece of delta) if (typeof piece === "string") expect(piece.isWellFormed()).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it.each([[[5]], [[0, -1]], [[0, 99]], [["a", 6, 4]], [[null, 1]], [[0.5, 1]]])(
    "is nothing where it names what is not there: %j",
    (delta) => {
      expect(decodeDelta(delta, "abcdef")).toBeUndefined();
    },
  );

  it.each([
    { name: "a text that is the base", text: "abcdefghijklmnop", base: "abcdefghijklmnop", delta: [0, 16] },
    {
      name: "its end behind other text",
      text: "?cdefghijklmnop",
      base: "abcdefghijklmnop",
      delta: ["?", 2, 14],
    },
    {
      name: "pieces that follow each other",
      text: "abcdefghijklmnopABCDEFGHIJKLMNOP",
      base: "abcdefghijklmnop----ABCDEFGHIJKLMNOP",
      delta: [0, 16, 20, 16],
    },
    {
      name: "what was written before",
      text: "abcdefghijklmnop?cdefghijklmnop",
      base: "",
      delta: ["abcdefghijklmnop?", 2, 14],
    },
    { name: "a piece of 14", text: "abcdefghijklmn?", base: "abcdefghijklmn!", delta: [0, 14, "?"] },
    { name: "none of 13", text: "abcdefghijklm?", base: "abcdefghijklm!", delta: ["abcdefghijklm?"] },
    {
      name: "no half of a character before a piece",
      text: "\u{1fb88}abcdefghijklmnopqr",
      base: "\u{1f388}abcdefghijklmnopqr",
      delta: ["\u{1fb88}", 2, 18],
    },
    {
      name: "no half of a character behind a piece",
      text: "abcdefghijklmnopqr\u{1f389}",
      base: "abcdefghijklmnopqr\u{1f388}",
      delta: [0, 18, "\u{1f389}"],
    },
    { name: "an empty text", text: "", base: "abcdefghijklmnop", delta: [] },
  ])("takes $name", ({ text, base, delta }) => {
    expect(encodeDelta(text, base)).toEqual(delta);
    expect(decodeDelta(delta, base)).toBe(text);
  });
});
