import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  asTrue,
  codeOf,
  createLruMap,
  deepEqual,
  errorWithCode,
  failureOf,
  groupBy,
  jsonOrText,
  mapStrings,
  omitUndefined,
  textOrJson,
  toJson,
} from "./json.ts";

const shout = (text: string) => text.toUpperCase();

describe("mapStrings", () => {
  it("changes every string and nothing else", () => {
    const value = deepFreeze({ a: "x", b: [1, "y", null, { c: "z" }], d: undefined, e: true });
    expect(mapStrings(value, shout)).toEqual({
      a: "X",
      b: [1, "Y", null, { c: "Z" }],
      d: undefined,
      e: true,
    });
    expect(mapStrings("x", shout)).toBe("X");
    expect(mapStrings(null, shout)).toBeNull();
  });

  it("gives the same reference for every piece in which nothing changed", () => {
    const value = { same: { list: ["X", Number.NaN, [1]] }, other: ["y"] };
    const mapped = mapStrings(value, shout) as typeof value;
    expect(mapped).not.toBe(value);
    expect(mapped.same).toBe(value.same);
    expect(mapStrings(value.same, shout)).toBe(value.same);
  });

  it("reads a piece that stands in two places once", () => {
    const piece = { text: "x" };
    let count = 0;
    const mapped = mapStrings([piece, piece], (text) => {
      count += 1;
      return shout(text);
    }) as readonly object[];
    expect(count).toBe(1);
    expect(mapped[0]).toBe(mapped[1]);
  });

  it("ends on a cycle", () => {
    const cyclic: Record<string, unknown> = { text: "x" };
    cyclic.self = cyclic;
    expect(mapStrings(cyclic, shout)).toMatchObject({ text: "X" });
  });

  it("leaves what is deeper than 500 levels as it is, and what throws", () => {
    const nested = (depth: number): unknown => (depth === 0 ? "x" : [nested(depth - 1)]);
    const deepest = (value: unknown): unknown => (Array.isArray(value) ? deepest(value[0]) : value);
    expect(deepest(mapStrings(nested(499), shout))).toBe("X");
    expect(deepest(mapStrings(nested(500), shout))).toBe("X");
    expect(deepest(mapStrings(nested(501), shout))).toBe("x");
    const hostile = {
      get text(): string {
        throw new Error("no");
      },
    };
    expect(mapStrings(hostile, shout)).toBe(hostile);
  });
});

it("puts values with the same key together, keys and values in the order in which they come", () => {
  const groups = groupBy(["pear", "fig", "plum", "apple", "fog"], (word) => word[0]);
  expect([...groups]).toEqual([
    ["p", ["pear", "plum"]],
    ["f", ["fig", "fog"]],
    ["a", ["apple"]],
  ]);
  expect(groupBy([], String).size).toBe(0);
});

describe("readers of unknown values", () => {
  it.each([
    { value: { a: 1 }, object: { a: 1 }, array: [], string: undefined, number: undefined },
    { value: [1], object: [1], array: [1], string: undefined, number: undefined },
    { value: "x", object: {}, array: [], string: "x", number: undefined },
    { value: "", object: {}, array: [], string: "", number: undefined },
    { value: 0, object: {}, array: [], string: undefined, number: 0 },
    { value: Number.NaN, object: {}, array: [], string: undefined, number: undefined },
    { value: Number.POSITIVE_INFINITY, object: {}, array: [], string: undefined, number: undefined },
    { value: null, object: {}, array: [], string: undefined, number: undefined },
    { value: undefined, object: {}, array: [], string: undefined, number: undefined },
  ])("take $value for what it is, and nothing else", ({ value, object, array, string, number }) => {
    expect(asObject(value)).toEqual(object);
    expect(asArray(value)).toEqual(array);
    expect(asString(value)).toBe(string);
    expect(asNumber(value)).toBe(number);
  });

  it("know a flag only when it is true", () => {
    expect([true, false, 1, "true", undefined].map(asTrue)).toEqual([true, ...Array(4).fill(undefined)]);
  });

  it("leave out what is undefined, and nothing else", () => {
    const left = omitUndefined({ a: undefined, b: null, c: 0, d: "" });
    expect(left).toStrictEqual({ b: null, c: 0, d: "" });
    expect(Object.keys(left)).not.toContain("a");
  });

  it("read JSON where a text is JSON, and write it where a value is no text", () => {
    expect(['{"a":1}', "5", "no json", 5, null].map(jsonOrText)).toEqual([{ a: 1 }, 5, "no json", 5, null]);
    expect(["x", undefined, null, { a: 1 }, 0].map(textOrJson)).toEqual(["x", "", "", '{"a":1}', "0"]);
  });
});

describe("groupBy", () => {
  it("keeps the order of keys and of values", () => {
    const groups = groupBy(["b1", "a1", "b2"], (value) => value[0]);
    expect([...groups]).toEqual([
      ["b", ["b1", "b2"]],
      ["a", ["a1"]],
    ]);
  });
});

describe("deepEqual", () => {
  it.each([
    [{ a: [1, { b: null }] }, { a: [1, { b: null }] }, true],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [Number.NaN, Number.NaN, true],
    [{ a: 1 }, { a: 1, b: undefined }, false],
    [{ a: undefined }, { b: undefined }, false],
    [[1, 2], [2, 1], false],
    [[1], { 0: 1 }, false],
    [{ 0: 1 }, [1], false],
    [null, {}, false],
    [{}, null, false],
    ["1", 1, false],
    [{ a: { b: 1 } }, { a: { b: 2 } }, false],
  ])("of %j and %j is %s", (one, other, equal) => {
    expect(deepEqual(one, other)).toBe(equal);
  });

  it("ends for values that hold themselves, and says that they differ", () => {
    const loop = (): unknown => {
      const value: { self?: unknown } = {};
      value.self = value;
      return value;
    };
    expect(deepEqual(loop(), loop())).toBe(false);
  });

  it("compares down to 64 levels", () => {
    const nested = (depth: number): unknown => (depth === 0 ? "x" : { a: nested(depth - 1) });
    expect(deepEqual(nested(64), nested(64))).toBe(true);
    expect(deepEqual(nested(65), nested(65))).toBe(false);
  });
});

describe("a failed system call as a value", () => {
  it.each([
    [errorWithCode("ENOENT", "no such file"), "ENOENT", "no such file"],
    [new Error("broken"), "UNKNOWN", "broken"],
    [Object.assign(new Error("odd"), { code: 5 }), "UNKNOWN", "odd"],
    [{ code: "EIO" }, "EIO", "not an error object"],
    ["thrown text", "UNKNOWN", "not an error object"],
    [null, "UNKNOWN", "not an error object"],
    [undefined, "UNKNOWN", "not an error object"],
  ])("%s", (error, code, reason) => {
    expect(failureOf(error)).toEqual({ status: "failed", code, reason });
    expect(codeOf(error)).toBe(code === "UNKNOWN" ? undefined : code);
  });

  it("is what a value without JSON gives", () => {
    expect(toJson({ a: [1] })).toBe('{"a":[1]}');
    expect(toJson(null)).toBe("null");
    const refused = (value: unknown, reason: unknown) =>
      expect(toJson(value)).toEqual({ status: "failed", code: "NOT_JSON", reason });
    refused(undefined, "JSON has no text for undefined");
    refused(() => 1, "JSON has no text for function");
    refused(1n, expect.stringMatching(/BigInt/));
    const thrower = {
      toJSON() {
        throw "nothing to read";
      },
    };
    refused(thrower, "the value refused");
  });
});

describe("deepEqual, of values of unlike kinds", () => {
  it.each([
    [{ a: 1 }, { a: 1, b: undefined }, false],
    [{ a: 1, b: 2 }, { a: 1, b: 3 }, false],
    [{ a: undefined }, { b: undefined }, false],
    [{}, "", false],
    ["", {}, false],
    [[], {}, false],
    [null, {}, false],
    [Number.NaN, Number.NaN, true],
  ])("%j and %j: %s", (one, other, expected) => {
    expect(deepEqual(one, other)).toBe(expected);
  });
});

describe("createLruMap", () => {
  it("names its keys, the one that was not used for longest first", () => {
    const map = createLruMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.get("a");
    expect(map.keys()).toEqual(["b", "a"]);
    map.get("none");
    expect(map.keys()).toEqual(["b", "a"]);
    map.set("c", 3);
    expect(map.keys()).toEqual(["a", "c"]);
  });
});
