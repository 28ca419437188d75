import { describe, expect, it } from "vitest";
import { forkCommand } from "../fork.ts";
import { statsCommand } from "../stats.ts";
import { findArgumentProblems } from "./cli-error.ts";

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
