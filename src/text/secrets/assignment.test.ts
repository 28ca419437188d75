import { describe, expect, it } from "vitest";
import { type ValuePlace, valueAt } from "./assignment.ts";
import { sliceSpan } from "./secret-value.ts";

function read(text: string, place: ValuePlace = "spaced", index = 0) {
  const value = valueAt(text, { index, place });
  return value && [sliceSpan(text, value), value.form];
}

describe("valueAt", () => {
  it.each([
    ["spaced", "abc=def ghi", ["abc=def", "line"]],
    ["spaced", "abc,def", ["abc", "loose"]],
    ["spaced", "abc.", ["abc", "line"]],
    ["spaced", "abc)", ["abc", "loose"]],
    ["spaced", "abc(", undefined],
    ["spaced", "abc[0]", undefined],
    ["spaced", "abc{", undefined],
    ["spaced", " abc", undefined],
    ["spaced", "", undefined],
    ["tight", "abc=def", ["abc", "loose"]],
    ["tight", "abc== x", ["abc==", "line"]],
    ["tight", "abc:def", ["abc", "loose"]],
    ["tight", "hunter2supersecret; ls", ["hunter2supersecret", "line"]],
    ["tight", "x1supersecret9;", ["x1supersecret9", "line"]],
    ["tight", "userPassword; ls", ["userPassword", "loose"]],
    ["tight", "base64Value; next()", ["base64Value", "loose"]],
    ["tight", "hunter2supersecret;b=1", ["hunter2supersecret", "loose"]],
    ["parameter", "abc&x=1", ["abc", "line"]],
    ["parameter", "abc=def#x", ["abc=def", "line"]],
    ["settings-line", "a&(b;c. d", ["a&(b;c.", "line"]],
  ] as const)("%s, %j: %j", (place, text, expected) => {
    expect(read(text, place)).toEqual(expected);
  });

  it.each([
    ['"a b" c', ["a b", "quoted"]],
    ["'a b' c", ["a b", "quoted"]],
    ["`a b` c", ["a b", "quoted"]],
    ['b"abc"', ["abc", "quoted"]],
    ['\\"a b\\" c', ["a b", "quoted"]],
    ['"a\\"b" c', ['a\\"b', "quoted"]],
    ['""', undefined],
    ['"abc def', ["abc", "line"]],
    ['" abc', undefined],
  ])("in quotes, %s: %j", (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it("reads from where it is told", () => {
    expect(read("key = abc def", "spaced", 6)).toEqual(["abc", "line"]);
    expect(read("x".repeat(5_000))?.[0]).toHaveLength(4_096);
  });
});
