import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { mapStrings } from "./map-strings.ts";

const shout = (text: string) => text.toUpperCase();

const cyclic: Record<string, unknown> = { name: "self" };
cyclic.self = cyclic;

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

describe("mapStrings", () => {
  it("gives the same reference when no string changes", () => {
    fc.assert(
      fc.property(fc.object(), (value) => {
        expect(mapStrings(value, (text) => text)).toBe(value);
      }),
    );
  });

  it("takes NaN for itself", () => {
    const value = { n: Number.NaN, list: [Number.NaN] };
    expect(mapStrings(value, (text) => text)).toBe(value);
  });

  it("survives cycles, deep nesting and throwing getters", () => {
    let deep: unknown = "x";
    for (let level = 0; level < 20_000; level++) deep = [deep];
    const hostile = {
      get boom() {
        throw new Error("no");
      },
    };
    for (const value of [cyclic, deep, hostile])
      expect(() => mapStrings(value, (text) => `${text}!`)).not.toThrow();
  });
});
