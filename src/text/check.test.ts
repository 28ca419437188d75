import { describe, expect, it } from "vitest";
import {
  abortSignal,
  aMeasure,
  aNumber,
  anything,
  ConfigurationError,
  callback,
  check,
  defaultsOf,
  either,
  flag,
  limitFrom,
  listOf,
  methods,
  NO_OPTIONS,
  numberAbove,
  numberFrom,
  objectOf,
  oneOf,
  optionsCheck,
  type Rule,
  readOptions,
  recordOf,
  required,
  rule,
  type Shape,
  show,
  text,
  wholeFrom,
  withDefault,
} from "./check.ts";

const texts = (shape: Record<string, Rule>, value: unknown): readonly string[] =>
  check(shape, value).map((problem) => problem.text);

const port = objectOf({ host: text, port: wholeFrom(1) });

describe("a rule", () => {
  it.each([
    { name: "anything", rule: anything, good: [null, 0, "", {}], bad: [] },
    { name: "text", rule: text, good: ["a"], bad: ["", 1, null] },
    { name: "flag", rule: flag, good: [true, false], bad: ["true", 0, null] },
    { name: "callback", rule: callback, good: [() => 1], bad: [{}, "f"] },
    { name: "oneOf", rule: oneOf("a", "b"), good: ["a", "b"], bad: ["c", "", 1, ["a"]] },
    { name: "numberFrom", rule: numberFrom(0), good: [0, 0.5], bad: [-1, Number.NaN, Infinity, "1"] },
    { name: "numberAbove", rule: numberAbove(0), good: [0.1], bad: [0, -1, Number.NaN, Infinity] },
    { name: "wholeFrom", rule: wholeFrom(1), good: [1, 7], bad: [0, 1.5, 2 ** 53, "1"] },
    { name: "listOf", rule: listOf(text), good: [[], ["a"]], bad: [[""], ["a", 1], "a", { 0: "a" }] },
    { name: "objectOf", rule: port, good: [{}, { port: 1 }], bad: [{ port: 0 }, { ports: 1 }, [], null] },
    {
      name: "recordOf",
      rule: recordOf({ expects: "tool name", pattern: /^[a-z]+$/ }, numberFrom(0)),
      good: [{}, { bash: 1 }],
      bad: [{ Bash: 1 }, { bash: -1 }, [], "bash"],
    },
    {
      name: "either",
      rule: either(oneOf("off"), port),
      good: ["off", { port: 1 }],
      bad: ["on", { port: 0 }, 3],
    },
  ])("$name takes what it says and refuses the rest", ({ rule: each, good, bad }) => {
    for (const value of good) expect(check({ it: each }, { it: value }), show(value)).toEqual([]);
    for (const value of bad) expect(check({ it: each }, { it: value }), show(value)).toHaveLength(1);
  });

  it("says what was given and what to give instead, with the path to it", () => {
    expect(texts({ at: objectOf({ port: wholeFrom(1) }) }, { at: { port: "80" } })).toEqual([
      'at.port is "80"; give a whole number of 1 or more',
    ]);
    expect(texts({ names: listOf(text) }, { names: ["a", 1] })).toEqual(["names.1 is 1; give a text"]);
    expect(texts({ mode: either(oneOf("off"), port) }, { mode: "on" })).toEqual([
      'mode is "on"; give "off", or an object',
    ]);
    expect(texts({ mode: either(oneOf("off"), port) }, { mode: { port: 0 } })).toEqual([
      "mode.port is 0; give a whole number of 1 or more",
    ]);
  });

  it("holds for values that are given: undefined is like a key that is not there", () => {
    expect(check({ a: text }, { a: undefined })).toEqual([]);
    expect(check({ a: text }, {})).toEqual([]);
  });
});

describe("options", () => {
  interface Limits {
    readonly maxLines?: number;
    readonly maxBytes?: number;
    readonly mode?: "head" | "tail";
  }
  const shape: Shape<Limits, "maxLines" | "mode"> = {
    maxLines: withDefault(wholeFrom(0), 10),
    maxBytes: wholeFrom(0),
    mode: withDefault(oneOf("head", "tail"), "head"),
  };

  it("are completed with the defaults of their shape", () => {
    expect(defaultsOf(shape)).toEqual({ maxLines: 10, mode: "head" });
    expect(readOptions(shape)).toEqual({ maxLines: 10, mode: "head" });
    expect(readOptions(shape, { maxLines: 3, maxBytes: 5, mode: undefined })).toEqual({
      maxLines: 3,
      maxBytes: 5,
      mode: "head",
    });
  });

  it("have rules for just the values that their interface has", () => {
    // @ts-expect-error: the interface has a word more.
    const tooFew: Shape<Limits> = { ...shape, mode: oneOf("head") };
    // @ts-expect-error: the rule has a word more.
    const tooMany: Shape<Limits> = { ...shape, mode: oneOf("head", "tail", "both") };
    // @ts-expect-error: an option without a rule.
    const missing: Shape<Limits> = { maxLines: wholeFrom(0), maxBytes: wholeFrom(0) };
    // @ts-expect-error: a rule without an option.
    const unknown: Shape<Limits> = { maxLines: text, maxBytes: text, mode: text, color: text };
    // @ts-expect-error: a default that the rule would refuse.
    const wrongDefault: Shape<Limits> = { ...shape, mode: withDefault(oneOf("head", "tail"), "both") };
    expect([tooFew, tooMany, missing, unknown, wrongDefault]).toHaveLength(5);
  });

  it("are refused with every problem at once", () => {
    const given = { maxLines: -1, maxByte: 5, mode: "middle", nothing: 1 };
    expect(() => readOptions(shape, given)).toThrow(ConfigurationError);
    expect(texts(shape, given)).toEqual([
      "maxLines is -1; give a whole number of 0 or more",
      "maxByte is not an option; did you mean maxBytes?",
      'mode is "middle"; give "head" or "tail"',
      "nothing is not an option; known are maxLines, maxBytes, mode",
    ]);
  });

  it.each([
    { key: "maxlines", meant: "maxLines" },
    { key: "max_lines", meant: "maxLines" },
    { key: "maxLine", meant: "maxLines" },
    { key: "modes", meant: "mode" },
  ])("name the known key nearest to $key", ({ key, meant }) => {
    expect(texts(shape, { [key]: 1 })).toEqual([`${key} is not an option; did you mean ${meant}?`]);
  });

  it.each([
    { value: null, said: "null" },
    { value: [1], said: "a list" },
    { value: "x", said: '"x"' },
    { value: () => 1, said: "a function" },
    { value: Symbol("s"), said: "Symbol(s)" },
    { value: 10n, said: "10" },
  ])("are an object, not $said", ({ value, said }) => {
    expect(texts(shape, value)).toEqual([`the options are ${said}; give an object`]);
  });

  it("do no harm where they are hostile", () => {
    const throwing = {
      get maxLines(): number {
        throw new Error("no");
      },
    };
    expect(texts(shape, throwing)).toEqual(["the options cannot be read; give a plain object"]);
    expect(texts({ at: objectOf(shape) }, { at: throwing })).toEqual([
      "at cannot be read; give a plain object",
    ]);
    const refusing = rule("an object with a name", (value) => (value as { name: string }).name !== "");
    expect(texts({ it: refusing }, { it: null })).toEqual(["it is null; give an object with a name"]);

    const long = "k".repeat(1_000_000);
    const [said = ""] = texts(shape, { [long]: long });
    expect(said.length).toBeLessThan(200);
    expect(texts({ a: flag }, { a: long })[0]?.length).toBeLessThan(100);

    const inherited = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}') as unknown;
    expect(texts(shape, inherited)).toHaveLength(3);
    expect(texts(shape, { "": 1 })).toEqual([" is not an option; known are maxLines, maxBytes, mode"]);
  });
});

describe("a configuration error", () => {
  it("lists every problem, and is known by its code where two copies of the package are installed", () => {
    const error = new ConfigurationError(["a is 1", "b is 2"]);
    expect(error.message).toBe("Cannot use these settings: a is 1; b is 2");
    expect(error).toMatchObject({
      name: "ConfigurationError",
      code: "CARRYOVER_CONFIGURATION",
      problems: ["a is 1", "b is 2"],
    });
  });
});

describe("a check of options for functions in loops", () => {
  const checkPort = optionsCheck({ host: required(text), port: wholeFrom(1), log: methods("info", "warn") });
  const problemsOf = (options: unknown): readonly string[] => {
    try {
      checkPort(options);
      return [];
    } catch (error) {
      return (error as ConfigurationError).problems;
    }
  };

  it("says what is missing, unknown and wrong at once", () => {
    expect(problemsOf({ prt: 1, port: 0, log: { info() {} } })).toEqual([
      "host is missing; give a text",
      "prt is not an option; did you mean port?",
      "port is 0; give a whole number of 1 or more",
      "log is an object; give an object with the functions info and warn",
    ]);
    expect(problemsOf(undefined)).toEqual(["host is missing; give a text"]);
    expect(problemsOf(null)).toHaveLength(1);
    expect(problemsOf({ host: undefined })).toEqual(["host is missing; give a text"]);
  });

  it("takes what can be used, and what is left out where nothing is required", () => {
    class Log {
      info(): void {}
      warn(): void {}
    }
    expect(problemsOf({ host: "h", port: undefined, log: new Log() })).toEqual([]);
    for (const left of [undefined, NO_OPTIONS])
      expect(() => optionsCheck({ host: text })(left)).not.toThrow();
  });

  it("looks at an object again, since it may have changed", () => {
    const options = { host: "h" };
    expect(problemsOf(options)).toEqual([]);
    options.host = "";
    expect(problemsOf(options)).toHaveLength(1);
  });

  it("refuses an object that cannot be read", () => {
    const odd = Object.defineProperty({}, "host", {
      enumerable: true,
      get: () => {
        throw new Error("no");
      },
    });
    expect(problemsOf(odd)).toHaveLength(1);
  });
});

describe("rules of numbers and signals", () => {
  const allows = (rule: Rule, value: unknown): boolean => rule.find(value, []).length === 0;

  it.each([
    ["aNumber", aNumber, [0, -1, Number.NaN, Number.POSITIVE_INFINITY], ["1", null, {}, []]],
    ["aMeasure", aMeasure, [0, 1, Number.NaN, Number.POSITIVE_INFINITY], [-1, "1", null, {}]],
    ["limitFrom", limitFrom(2), [2, 3.5, Number.POSITIVE_INFINITY], [1.9, "3", null, [3]]],
    ["wholeFrom", wholeFrom(2), [2, 3], [1, 2.5, "2", null]],
    ["oneOf", oneOf("on", "off"), ["on", "off"], ["", "onoff", ["on"], null]],
    ["abortSignal", abortSignal, [AbortSignal.abort(), { aborted: false }], [{}, null, "aborted", 5]],
  ])("%s", (_, rule, good, bad) => {
    for (const value of good) expect(allows(rule, value)).toBe(true);
    for (const value of bad) expect(allows(rule, value)).toBe(false);
  });

  it("say what to give", () => {
    expect(limitFrom(2).expects).toBe("a number of 2 or more");
    expect(oneOf("on", "off").expects).toBe('"on" or "off"');
    expect(listOf(text).expects).toBe("a list, each item a text");
    expect(texts({ names: listOf(text) }, { names: 5 })).toEqual([
      "names is 5; give a list, each item a text",
    ]);
  });
});

describe("optionsCheck, called in a loop", () => {
  const look = optionsCheck({ must: required(text), may: wholeFrom(1) }, ["here"]);
  const problemsOf = (options: unknown): string => {
    try {
      look(options);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };

  it.each([
    [{ must: "a" }, /^$/],
    [{ must: "a", may: undefined }, /^$/],
    [{ must: "a", may: 2 }, /^$/],
    [{ must: "a", may: 0 }, /here\.may is 0/],
    [{ must: undefined }, /here\.must is missing/],
    [{}, /here\.must is missing/],
    [undefined, /here\.must is missing/],
    [null, /here\.must is missing/],
    [[], /give an object/],
    ["must", /give an object/],
    [{ must: "a", mya: 1 }, /here\.mya is not an option.*may/],
    [{ must: "a", toString: 1 }, /here\.toString is not an option/],
  ])("%j", (options, expected) => {
    expect(problemsOf(options)).toMatch(expected);
  });

  it("looks at what a rule asks only once where nothing is wrong", () => {
    let asked = 0;
    const counting = optionsCheck({
      value: rule("anything", () => {
        asked += 1;
        return true;
      }),
    });
    counting({ value: 1 });
    counting(NO_OPTIONS);
    counting(undefined);
    expect(asked).toBe(1);
  });

  it("says that a value cannot be read where its getter throws", () => {
    const trap = Object.defineProperty({ must: "a" }, "may", {
      enumerable: true,
      get() {
        throw new Error("no");
      },
    });
    expect(problemsOf(trap)).toMatch(/here cannot be read; give a plain object/);
  });
});
