import { describe, expect, it } from "vitest";
import { isGenerated, randomness } from "./secret-value.ts";

describe("randomness", () => {
  it.each([
    "getElementsByClassName",
    "uniformMatrix2x3fv",
    "app-db-credentials-v2",
    "claude-sonnet-4-5-20250929",
    "COMPRESSED_SRGB8_ALPHA8",
    "correcthorsebatterystaple",
    "XMLHttpRequestEventTarget",
    "aaaaaaaaaaaaaaaaaaaaaaaa",
    "abcdefghijklmnopqrstuvwxyz",
    "2026-03-16T15:26:30.123Z",
  ])("does not rise for what people write: %s", (text) => {
    expect(randomness(text)).toBeLessThan(4);
  });

  it.each([
    "kJ8dQw2LmZx9VbT4",
    "x7kqz2mvw9rtb4hd",
    "QZKXJVWPFHGBTRLD",
    "hXqKzWvJpLmQdRtGbN",
    "7f3c9a1e5b2d8064",
  ])("rises for what a machine made: %s", (text) => {
    expect(randomness(text)).toBeGreaterThan(6);
  });
});

describe("isGenerated", () => {
  it("takes hexadecimal digits of both kinds for generated, and numbers not", () => {
    expect(isGenerated("0f1e2d3c4b5a6978", 4)).toBe(true);
    expect(isGenerated("8b5f0f64-4c38-4a5e-9d3b-2f6f0c6e7a10", 4)).toBe(true);
    expect(isGenerated("2026031615263012", 4)).toBe(false);
  });

  it("needs more than a few different characters", () => {
    expect(isGenerated("sk-sk-sk-sk-sk-sk-sk-sk", 4)).toBe(false);
  });
});

describe("the score of randomness", () => {
  it.each([
    ["", 0],
    ["a", 0],
    ["-", 0],
    ["a1", 1.5],
    ["1a", 1.5],
    ["11", 0],
    ["a-b", 0],
    ["abcB", randomness("abc") + 0.5],
    ["aB", 2],
    ["1aB", 3.5],
    ["abB", randomness("ab") + 0.5],
    ["zZ", 2],
  ])("of %s is %d", (text, score) => {
    expect(randomness(text)).toBe(score);
  });

  it("falls for rows of the same or the next character", () => {
    expect(randomness("1234")).toBe(-4);
    expect(randomness("1111")).toBe(-4);
    expect(randomness("1357")).toBe(0);
    expect(randomness("aaaa") - randomness("aaa")).toBe(-2);
    expect(randomness("0a9Z")).toBe(randomness("5k5K"));
  });
});
