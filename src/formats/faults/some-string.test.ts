import { describe, expect, it } from "vitest";
import { someString } from "./some-string.ts";

function strings(value: unknown): readonly string[] {
  const seen: string[] = [];
  someString(value, (text) => {
    seen.push(text);
    return false;
  });
  return seen;
}

describe("visiting strings", () => {
  it("finds texts and names at any depth", () => {
    expect(strings({ a: ["b", { c: "d" }], e: 1, f: null }).toSorted()).toEqual([
      "a",
      "b",
      "c",
      "d",
      "e",
      "f",
    ]);
    expect(strings("a")).toEqual(["a"]);
    expect(strings(undefined)).toEqual([]);
  });

  it("stops at the first that is wanted", () => {
    const seen: string[] = [];
    const isFound = someString(["a", "b", "c"], (text) => seen.push(text) === 2);
    expect([isFound, seen]).toEqual([true, ["a", "b"]]);
  });

  it("ends on circular values and on very deep ones", () => {
    const circle: unknown[] = ["a"];
    circle.push(circle);
    expect(strings(circle)).toEqual(["a"]);
    let deep: unknown = "a";
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    expect(strings(deep)).toEqual(["a"]);
  });
});
