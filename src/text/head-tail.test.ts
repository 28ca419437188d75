import { expect, it } from "vitest";
import { FORK_ERROR_PATTERNS, shouldUseHeadTail } from "./head-tail.ts";

it.each(["bash", "my_bash_tool", "pty", "exec", "Bash", "EXECUTE"])("%s is a terminal tool", (tool) => {
  expect(shouldUseHeadTail(tool, "fine")).toBe(true);
});

it.each([
  ...FORK_ERROR_PATTERNS,
  ...["fail", "FAIL", "stack", "Failed", "Exception", "Traceback", "panic:", "fatal:", "FATAL"],
])("a text with %s speaks of an error", (pattern) => {
  expect(shouldUseHeadTail("read", `before ${pattern} after`)).toBe(true);
});

it.each([
  "Traceback (most recent call last)",
  "Exception in thread main",
  "Failed to open",
  "panic: nil map",
  "FATAL: no database",
])("%s is seen although the documented patterns miss it", (text) => {
  expect(FORK_ERROR_PATTERNS.some((pattern) => text.includes(pattern))).toBe(false);
  expect(shouldUseHeadTail("read", text)).toBe(true);
});

it("other texts of other tools keep their beginning only", () => {
  expect(shouldUseHeadTail("read", "export const answer = 42;")).toBe(false);
});

it.each([16_384, 16_385, 60_000, 1_000_000])("sees an error anywhere in a text of %i characters", (chars) => {
  const at = (start: number) => `${"x".repeat(start)}error${"x".repeat(chars - start - 5)}`;
  for (const share of [0, 0.25, 0.5, 0.75])
    expect(shouldUseHeadTail("read", at(Math.floor(share * chars)))).toBe(true);
  expect(shouldUseHeadTail("read", at(chars - 5))).toBe(true);
  expect(shouldUseHeadTail("read", "x".repeat(chars))).toBe(false);
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
