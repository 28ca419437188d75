import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../test/rig/runs.ts";
import { mapStrings, safeJson } from "./json.ts";
import { clip, clipJson, clipLine, errorMessage, formatBytes, oneLine, plural } from "./truncate.ts";

describe("a text for one line", () => {
  it("has no line breaks, no runs of blanks and none at its ends", () => {
    expect(oneLine("  a\r\n\tb   c\n")).toBe("a b c");
    expect(oneLine("")).toBe("");
  });

  it("is cut behind its limit, between characters, with dots in the place of the rest", () => {
    expect(clip("abcdef", 6)).toBe("abcdef");
    expect(clip("abcdefg", 6)).toBe("abc...");
    expect(clip("ab😀defg", 6)).toBe("ab...");
    expect(clip("abcdef", 3)).toBe("");
    expect(clipLine("a\n\nb c d e f", 8)).toBe("a b c...");
  });

  it("costs little where the text is huge", () => {
    expect(clipLine(" ".repeat(10_000_000), 20)).toBe("");
  });
});

describe("a number for people", () => {
  it("has its noun", () => {
    expect([0, 1, 2].map((count) => plural(count, "line"))).toEqual(["0 lines", "1 line", "2 lines"]);
  });

  it("has its unit", () => {
    expect([0, 1_023, 1_024, 1_048_575, 1_048_576].map(formatBytes)).toEqual([
      "0 B",
      "1023 B",
      "1.0 KB",
      "1024.0 KB",
      "1.0 MB",
    ]);
  });
});

it("reads what was thrown, whatever it is", () => {
  expect(errorMessage(new TypeError("no"))).toBe("no");
  expect(errorMessage("plain")).toBe("plain");
  expect(errorMessage(undefined)).toBe("undefined");
  expect(errorMessage(Object.create(null))).toBe("threw something that cannot be read");
});

const cyclic: Record<string, unknown> = { name: "self" };
cyclic.self = cyclic;
const throwing = {
  toJSON() {
    throw new Error("no JSON today");
  },
};

describe("safeJson", () => {
  it.each([
    { name: "a cycle", value: cyclic },
    { name: "a BigInt", value: { n: 1n } },
    { name: "a throwing toJSON", value: throwing },
    { name: "a function", value: () => 1 },
    { name: "undefined", value: undefined },
  ])("prints {...} for $name (DA-18)", ({ value }) => expect(safeJson(value)).toBe("{...}"));

  it("prints everything else as JSON does", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(safeJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });
});

describe("clipJson", () => {
  it("keeps the shape and cuts the longest strings", () => {
    const input = { path: "src/a.ts", content: "x".repeat(1_000), flags: [1, true, null], note: "short" };
    const clipped = clipJson(input, 120) as typeof input;
    expect(safeJson(clipped).length).toBeLessThanOrEqual(120);
    expect(clipped).toMatchObject({ path: "src/a.ts", flags: [1, true, null], note: "short" });
    expect(clipped.content).toMatch(/^x+\.\.\.$/);
  });

  it("gives the value itself when it fits, and an empty object when it cannot", () => {
    const value = { a: 1 };
    expect(clipJson(value, 100)).toBe(value);
    expect(clipJson(cyclic, 100)).toEqual({});
    expect(
      clipJson(
        Array.from({ length: 500 }, (_, n) => n),
        100,
      ),
    ).toEqual({});
  });

  it("never exceeds the limit and never breaks a character", () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 3 }), fc.integer({ min: 2, max: 200 }), (value, limitChars) => {
        const json = safeJson(clipJson(value, limitChars));
        expect(json.length).toBeLessThanOrEqual(limitChars);
      }),
      { numRuns: runs(1_000) },
    );
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

describe("the length to which clipJson cuts", () => {
  const chars = (value: unknown) => safeJson(value).length;

  it("is the longest that fits", () => {
    const value = { a: "x".repeat(50) };
    expect(clipJson(value, chars(value))).toBe(value);
    expect(clipJson(value, chars(value) - 1)).toEqual({ a: `${"x".repeat(46)}...` });
    expect(clipJson(value, 20)).toEqual({ a: `${"x".repeat(9)}...` });
  });

  it("is the same for all that are longer, and takes nothing from the shorter ones", () => {
    const value = ["a".repeat(40), "b".repeat(4), "c".repeat(30), "d".repeat(8)];
    const clipped = clipJson(value, 53);
    expect(clipped).toEqual([`${"a".repeat(11)}...`, "bbbb", `${"c".repeat(11)}...`, "d".repeat(8)]);
    expect(chars(clipped)).toBe(53);
  });

  it("leaves nothing of a string that could only be dots", () => {
    expect(clipJson({ a: "x".repeat(50) }, 11)).toEqual({ a: "" });
    expect(clipJson({ a: "x".repeat(50) }, 12)).toEqual({ a: "x..." });
  });

  it("gets shorter where escapes need room", () => {
    const clipped = clipJson({ a: "\n".repeat(100) }, 60) as { readonly a: string };
    expect(chars(clipped)).toBeLessThanOrEqual(60);
    expect(clipped.a).toMatch(/^\n{20,}\.\.\.$/);
    const short = clipJson({ a: "\n".repeat(20), b: "x" }, 40);
    expect(short).toEqual({ a: `${"\n".repeat(9)}...`, b: "x" });
  });

  it("keeps the beginning of a long file, however many of its lines need escapes", () => {
    const content = 'const a = "b";\n'.repeat(5_000);
    const clipped = clipJson({ path: "a.ts", content }, 500) as { readonly content: string };
    expect(chars(clipped)).toBeLessThanOrEqual(500);
    expect(clipped.content.length).toBeGreaterThan(250);
    expect(content.startsWith(clipped.content.slice(0, -3))).toBe(true);
  });
});
