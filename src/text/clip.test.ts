import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../test/rig/runs.ts";
import { clipJson, clipLine, commonLimit, oneLine } from "./clip.ts";
import { safeJson } from "./json.ts";

const cyclic: Record<string, unknown> = { name: "self" };
cyclic.self = cyclic;

describe("a text for one line", () => {
  it("has no line breaks, no runs of blanks and none at its ends", () => {
    expect(oneLine("  a\r\n\tb   c\n")).toBe("a b c");
    expect(oneLine("")).toBe("");
  });

  it("is cut behind its limit, between characters, with dots in the place of the rest", () => {
    expect(clipLine("abcdef", 6)).toBe("abcdef");
    expect(clipLine("abcdefg", 6)).toBe("abc...");
    expect(clipLine("ab😀defg", 6)).toBe("ab...");
    expect(clipLine("abcdef", 3)).toBe("");
    expect(clipLine("a\n\nb c d e f", 8)).toBe("a b c...");
  });

  it("costs little where the text is huge", () => {
    expect(clipLine(" ".repeat(10_000_000), 20)).toBe("");
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

describe("commonLimit", () => {
  it.each([
    { lengths: [10, 20, 30], room: 60, limit: Number.POSITIVE_INFINITY },
    { lengths: [10, 20, 30], room: 59, limit: 29 },
    { lengths: [30, 10, 20], room: 45, limit: 17.5 },
    { lengths: [30, 30], room: 10, limit: 5 },
    { lengths: [], room: 0, limit: Number.POSITIVE_INFINITY },
    { lengths: [], room: -1, limit: 0 },
  ])("of $lengths in $room is $limit", ({ lengths, room, limit }) => {
    expect(commonLimit(lengths, room)).toBe(limit);
  });
});
