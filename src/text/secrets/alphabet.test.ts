import { describe, expect, it } from "vitest";
import { createAlphabet } from "./alphabet.ts";

describe("an alphabet", () => {
  const vowels = createAlphabet("aeiou");

  it("has its characters and no others", () => {
    expect(vowels.has("a".charCodeAt(0))).toBe(true);
    expect(vowels.has("b".charCodeAt(0))).toBe(false);
    expect(vowels.has("é".charCodeAt(0))).toBe(false);
    expect(vowels.has(128)).toBe(false);
  });

  it.each([
    ["aeb", 0, 2],
    ["aeb", 2, 2],
    ["aei", 1, 3],
    ["aeé", 0, 2],
    ["", 0, 0],
  ])("of %j from %i runs to %i", (text, start, stop) => {
    expect(vowels.endOfRun(text, start)).toBe(stop);
  });
});
