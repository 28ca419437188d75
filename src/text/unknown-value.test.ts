import { describe, expect, it } from "vitest";
import { asArray, asNumber, asObject, asString, asTrue, omitUndefined } from "./unknown-value.ts";

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
});
