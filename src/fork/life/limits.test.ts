import { describe, expect, it } from "vitest";
import { acceptedKeys, ConfigurationError, defaultsOf, readOptions } from "../../text/check.ts";
import { FORK_LIMIT_SHAPE, type ForkLimits, forkLimits } from "./limits.ts";

const DEFAULTS = forkLimits(defaultsOf(FORK_LIMIT_SHAPE));

function readForkLimits(options?: unknown): ForkLimits {
  return forkLimits(readOptions(FORK_LIMIT_SHAPE, options));
}

function problemsOf(options: unknown): readonly string[] {
  try {
    readForkLimits(options);
    return [];
  } catch (error) {
    return error instanceof ConfigurationError ? error.problems : [String(error)];
  }
}

describe("limits of forks", () => {
  it("gives the defaults when nothing is configured", () => {
    expect(readForkLimits()).toEqual(DEFAULTS);
    expect(readForkLimits({ maxRunning: undefined })).toEqual(DEFAULTS);
    expect(DEFAULTS).toMatchObject({
      timeoutMs: 1_200_000,
      graceMs: 90_000,
      askTimeoutMs: 300_000,
    });
  });

  it("takes minutes and seconds as people write them", () => {
    const options = { timeoutMin: 0.5, askTimeoutS: 10 };
    expect(readForkLimits(options)).toEqual({
      ...DEFAULTS,
      timeoutMs: 30_000,
      // No longer than the run itself.
      graceMs: 30_000,
      askTimeoutMs: 10_000,
    });
  });

  it("follow from each other where one is not set by itself", () => {
    expect(readForkLimits({ maxRunning: 2, forkUSD: 0.5 })).toMatchObject({ maxQueued: 8, rootUSD: 2.5 });
  });

  it("lists every problem at once", () => {
    const options = {
      maxRunning: 0,
      timeoutMin: "20",
      forkUSD: Number.NaN,
      timeoutMs: 1,
      somethingElse: 1,
    };
    expect(problemsOf(options)).toEqual([
      "maxRunning is 0; give a whole number of 1 or more",
      'timeoutMin is "20"; give a number above 0',
      "forkUSD is NaN; give a number above 0",
      "timeoutMs is not an option; did you mean timeoutMin?",
      `somethingElse is not an option; known are ${acceptedKeys(FORK_LIMIT_SHAPE).join(", ")}`,
    ]);
  });

  it.each([null, 5, "many", [1]])("refuses %j as a whole", (options) => {
    expect(problemsOf(options)).toMatchObject([expect.stringMatching(/give an object$/)]);
  });

  it("is not fooled by inherited names", () => {
    expect(problemsOf(JSON.parse('{"__proto__":1,"constructor":2}'))).toHaveLength(2);
  });

  it.each([
    { option: "maxRunning", wrong: [0, 1.5, "1"], right: [1] },
    { option: "timeoutMin", wrong: [0, -1, Number.POSITIVE_INFINITY, "1", null], right: [0.1] },
    { option: "askTimeoutS", wrong: [-0.1, Number.NaN, Number.POSITIVE_INFINITY, "1", {}], right: [0, 0.1] },
    { option: "forkUSD", wrong: [0, true], right: [0.01] },
  ])("$option takes $right and refuses $wrong", ({ option, wrong, right }) => {
    for (const value of right) expect(problemsOf({ [option]: value })).toEqual([]);
    for (const value of wrong) expect(problemsOf({ [option]: value })).toHaveLength(1);
  });
});
