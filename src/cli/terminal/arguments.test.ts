import { describe, expect, it } from "vitest";
import { findArgumentProblems } from "../cli.ts";
import { forkCommand } from "../fork.ts";
import { statsCommand } from "../stats.ts";
import { parseSize } from "./arguments.ts";

describe("the options of a command line", () => {
  it("are all looked at, with the nearest name, the value and what to give", () => {
    expect(
      findArgumentProblems(forkCommand(), [
        "fork",
        "a.json",
        "--bugdet",
        "--budget=10",
        "--as",
        "yaml",
        "--jsn",
      ]),
    ).toEqual([
      "--bugdet is not an option; did you mean --budget?",
      '--budget is "10"; give a whole number of characters, at least 512',
      expect.stringMatching(/^--as is "yaml"; allowed choices are /),
      "--jsn is not an option; did you mean --json?",
    ]);
    expect(findArgumentProblems(statsCommand(), ["stats", "--top"])).toEqual([
      "--top is missing its value; give --top <n>",
    ]);
  });

  it("that can be used have no problem, nor what follows --", () => {
    expect(
      findArgumentProblems(statsCommand(), ["stats", ".", "--top", "3", "--json", "--", "--what"]),
    ).toEqual([]);
    expect(findArgumentProblems(statsCommand(), ["stats", "--nope", "--help"])).toEqual([]);
  });
});

it.each([
  ["200000", 200_000],
  ["200_000", 200_000],
  ["200k", 200_000],
  ["1m", 1_000_000],
  ["1.5M", 1_500_000],
])("a size of %s is %i", (value, size) => expect(parseSize(value)).toBe(size));

it.each(["", "k", "1.5", "m1", "1mm", "-1"])("%j is no size", (value) =>
  expect(() => parseSize(value)).toThrow("such as 200000, 200k or 1m"),
);
