import { describe, expect, it } from "vitest";
import { DEFAULT_FORK_LIMITS, FORK_LIMIT_OPTIONS, readForkLimits } from "./limits.ts";

describe("readForkLimits", () => {
  it("gives the defaults when nothing is configured", () => {
    expect(readForkLimits(undefined)).toEqual({ status: "valid", limits: DEFAULT_FORK_LIMITS });
    expect(readForkLimits({ maxRunning: undefined })).toEqual({
      status: "valid",
      limits: DEFAULT_FORK_LIMITS,
    });
    expect(DEFAULT_FORK_LIMITS).toMatchObject({
      timeoutMs: 1_200_000,
      graceMs: 90_000,
      askTimeoutMs: 300_000,
    });
  });

  it("takes minutes and seconds as people write them", () => {
    const options = { timeoutMin: 0.5, graceS: 0, askTimeoutS: 10, maxQueued: 0, onRestart: "resume" };
    expect(readForkLimits(options)).toEqual({
      status: "valid",
      limits: {
        ...DEFAULT_FORK_LIMITS,
        timeoutMs: 30_000,
        graceMs: 0,
        askTimeoutMs: 10_000,
        maxQueued: 0,
        onRestart: "resume",
      },
    });
  });

  it("lists every problem at once", () => {
    const options = {
      maxRunning: 0,
      timeoutMin: "20",
      forkUSD: Number.NaN,
      onRestart: "again",
      timeoutMs: 1,
    };
    expect(readForkLimits(options)).toEqual({
      status: "invalid",
      problems: [
        "maxRunning must be a whole number of 1 or more, not 0",
        'timeoutMin must be a number above 0, not "20"',
        "forkUSD must be a number above 0, not NaN",
        'onRestart must be one of report, resume, not "again"',
        `timeoutMs is unknown; known are ${FORK_LIMIT_OPTIONS.join(", ")}`,
      ],
    });
  });

  it.each([null, 5, "many", [1]])("refuses %j as a whole", (options) => {
    expect(readForkLimits(options)).toEqual({
      status: "invalid",
      problems: ["the limits must be an object"],
    });
  });

  it("is not fooled by inherited names", () => {
    expect(readForkLimits(JSON.parse('{"__proto__":1,"constructor":2}')).status).toBe("invalid");
  });

  it.each([
    { option: "maxRunning", wrong: [0, 1.5, "1"], right: [1] },
    { option: "repeatLimit", wrong: [1], right: [2] },
    { option: "timeoutMin", wrong: [0, -1, Number.POSITIVE_INFINITY, "1", null], right: [0.1] },
    { option: "graceS", wrong: [-0.1, Number.NaN, Number.POSITIVE_INFINITY, "1", {}], right: [0, 0.1] },
    { option: "rootUSD", wrong: [0, true], right: [0.01] },
    { option: "onParentAbort", wrong: ["", "report"], right: ["keep", "cancel"] },
  ])("$option takes $right and refuses $wrong", ({ option, wrong, right }) => {
    for (const value of right) expect(readForkLimits({ [option]: value }).status).toBe("valid");
    for (const value of wrong) expect(readForkLimits({ [option]: value }).status).toBe("invalid");
  });

  it("quotes what it was given, briefly", () => {
    const problem = (maxRunning: unknown) => {
      const result = readForkLimits({ maxRunning });
      return result.status === "invalid" ? result.problems[0] : undefined;
    };
    expect(problem({ a: 1 })).toMatch(/not an object$/);
    expect(problem("x".repeat(50))).toMatch(/not "x{40}"$/);
    expect(problem(true)).toMatch(/not true$/);
  });
});
