import { describe, expect, it } from "vitest";
import { deepEqual } from "./deep-equal.ts";

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
