import { expect, it } from "vitest";
import { FORK_ERROR_PATTERNS, FORK_MORE_ERROR_PATTERNS, shouldUseHeadTail } from "./truncate.ts";

it.each(["bash", "my_bash_tool", "pty", "exec", "Bash", "EXECUTE"])("%s is a terminal tool", (tool) => {
  expect(shouldUseHeadTail(tool, "fine")).toBe(true);
});

it.each([...FORK_ERROR_PATTERNS, ...FORK_MORE_ERROR_PATTERNS])(
  "a text with %s speaks of an error",
  (pattern) => {
    expect(shouldUseHeadTail("read", `before ${pattern} after`)).toBe(true);
  },
);

it.each([
  "Traceback (most recent call last)",
  "Exception in thread main",
  "Failed to open",
  "panic: nil map",
  "FATAL: no database",
])("%s is seen although the documented patterns miss it (DA-16)", (text) => {
  expect(FORK_ERROR_PATTERNS.some((pattern) => text.includes(pattern))).toBe(false);
  expect(shouldUseHeadTail("read", text)).toBe(true);
});

it("other texts of other tools keep their beginning only", () => {
  expect(shouldUseHeadTail("read", "export const answer = 42;")).toBe(false);
});

it("looks at both ends of a long text, not at its middle", () => {
  const filler = "x".repeat(100_000);
  expect(shouldUseHeadTail("read", `${filler}${filler} error`)).toBe(true);
  expect(shouldUseHeadTail("read", `${filler} error ${filler}`)).toBe(false);
});

it("looks at all of a text of 16,384 characters, and at the first and last 4,096 of a longer one", () => {
  const middle = (chars: number) => {
    const text = `${"x".repeat(8_000)}error`;
    return text + "x".repeat(chars - text.length);
  };
  expect(shouldUseHeadTail("read", middle(16_384))).toBe(true);
  expect(shouldUseHeadTail("read", middle(16_385))).toBe(false);
  expect(shouldUseHeadTail("read", `${"x".repeat(4_091)}error${"x".repeat(20_000)}`)).toBe(true);
  expect(shouldUseHeadTail("read", `${"x".repeat(4_092)}error${"x".repeat(20_000)}`)).toBe(false);
});

it("has the seven documented patterns", () => {
  expect(FORK_ERROR_PATTERNS).toEqual([
    "error",
    "Error",
    "ERROR",
    "failed",
    "FAILED",
    "exception",
    "traceback",
  ]);
});
