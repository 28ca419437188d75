import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "../../test/rig/random-history/random-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { ConfigurationError } from "./check.ts";
import { headCut, tailCut, truncate, truncateWithStrategy, truncationMarker } from "./truncate.ts";

const anyOptions = fc
  .record({
    limitChars: fc.oneof(
      fc.integer({ min: -5, max: 3_000 }),
      fc.double({ min: 0, max: 3_000, noNaN: true }),
      fc.constant(Infinity),
    ),
    method: fc.constantFrom("head" as const, "head-tail" as const),
    headRatio: fc.constantFrom(0.8, 0.5, 2 / 3, 1, 0),
    tailRatio: fc.constantFrom(0.2, 0.5, 1 / 3, 0, 1),
  })
  .filter(({ headRatio, tailRatio }) => headRatio + tailRatio <= 1 + 1e-9);

describe("truncate", () => {
  it.each([
    { name: "keeps a text within the limit", text: "abc", limitChars: 3, method: "head", kept: "abc" },
    {
      name: "keeps the beginning",
      text: "x".repeat(90),
      limitChars: 10,
      method: "head",
      kept: `${"x".repeat(10)}\n...[truncated 80 chars]...`,
    },
    {
      name: "keeps both ends",
      text: `a${"x".repeat(98)}z`,
      limitChars: 10,
      method: "head-tail",
      kept: `a${"x".repeat(7)}\n...[truncated 90 chars]...\nxz`,
    },
    {
      name: "loses no character to rounding",
      text: "x".repeat(99),
      limitChars: 7,
      method: "head-tail",
      kept: `xxxxx\n...[truncated 92 chars]...\nxx`,
    },
    {
      name: "gives the marker alone for limit 0",
      text: "x".repeat(99),
      limitChars: 0,
      method: "head-tail",
      kept: "\n...[truncated 99 chars]...",
    },
    {
      name: "gives the text back when the marker alone is longer",
      text: "x".repeat(20),
      limitChars: 0,
      method: "head",
      kept: "x".repeat(20),
    },
    {
      name: "never grows: 501 characters stay 501",
      text: "x".repeat(501),
      limitChars: 500,
      method: "head-tail",
      kept: "x".repeat(501),
    },
    {
      name: "floors a fraction",
      text: "x".repeat(90),
      limitChars: 10.9,
      method: "head",
      kept: `${"x".repeat(10)}\n...[truncated 80 chars]...`,
    },
    {
      name: "takes a negative limit as 0",
      text: "x".repeat(90),
      limitChars: -3,
      method: "head",
      kept: "\n...[truncated 90 chars]...",
    },
    {
      name: "a limit below five with both ends stays small",
      text: "x".repeat(90),
      limitChars: 1,
      method: "head-tail",
      kept: "\n...[truncated 89 chars]...\nx",
    },
    {
      name: "does not split a pair in the head",
      text: `abc😀${"x".repeat(90)}`,
      limitChars: 4,
      method: "head",
      kept: "abc\n...[truncated 92 chars]...",
    },
    {
      name: "does not split a CRLF",
      text: `abc\r\n${"x".repeat(90)}`,
      limitChars: 4,
      method: "head",
      kept: "abc\n...[truncated 92 chars]...",
    },
  ] as const)("$name", ({ text, limitChars, method, kept }) => {
    expect(truncate(text, { limitChars, method }).text).toBe(kept);
  });

  it("does not split a pair in the tail", () => {
    expect(truncateWithStrategy(`${"x".repeat(90)}😀ab`, 15, true)).toBe(
      `${"x".repeat(12)}\n...[truncated 80 chars]...\nab`,
    );
  });

  it("rejects a limit that is not a number", () => {
    expect(() => truncate("x", { limitChars: Number.NaN, method: "head" })).toThrow(ConfigurationError);
    expect(() => truncateWithStrategy("x", undefined as unknown as number, false)).toThrow(
      /limitChars is undefined/,
    );
  });

  it("says exactly how much it left out, for any text and limit", () => {
    fc.assert(
      fc.property(anyText, anyOptions, (text, options) => {
        const { text: kept, cut } = truncate(text, options);
        expect(kept.length).toBeLessThanOrEqual(text.length);
        if (cut === undefined) {
          expect(kept).toBe(text);
          return;
        }
        const marker = truncationMarker(cut.omittedChars, cut.method);
        const at = kept.indexOf(marker);
        expect(at).not.toBe(-1);
        expect(kept.length - marker.length + cut.omittedChars).toBe(text.length);
        expect(kept.length - marker.length).toBeLessThanOrEqual(Math.max(0, Math.floor(options.limitChars)));
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("keeps well-formed text well-formed", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), anyOptions, (text, options) => {
        expect(truncate(text, options).text.isWellFormed()).toBe(true);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("keeps everything for an infinite limit", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(truncateWithStrategy(text, Infinity, true)).toBe(text);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe("a cut", () => {
  it("says which way it was made and how much it is", () => {
    const text = "x".repeat(200);
    expect(truncate(text, { limitChars: 100, method: "head" }).cut).toEqual({
      method: "head",
      originalChars: 200,
      omittedChars: 100,
      limitChars: 100,
    });
    expect(truncate(text, { limitChars: 100, method: "head-tail" }).cut?.method).toBe("head-tail");
    expect(
      truncate(text, { limitChars: 100, method: "head-tail", tailRatio: 0, headRatio: 1 }).cut?.method,
    ).toBe("head");
    expect(truncate(text, { limitChars: 200, method: "head" })).toEqual({ text });
  });

  it("is not made where it saves nothing", () => {
    const marker = truncationMarker(27, "head").length;
    expect(truncate("x".repeat(marker), { limitChars: 0, method: "head" }).cut).toBeUndefined();
    expect(truncate("x".repeat(marker + 1), { limitChars: 0, method: "head" }).cut?.omittedChars).toBe(
      marker + 1,
    );
  });

  it("shares the room as it is told, also where the shares leave some of it", () => {
    const text = `${"h".repeat(100)}${"t".repeat(100)}`;
    const { text: kept, cut } = truncate(text, {
      limitChars: 100,
      method: "head-tail",
      headRatio: 0.5,
      tailRatio: 0.25,
    });
    expect(kept).toBe(`${"h".repeat(50)}${truncationMarker(125, "head-tail")}${"t".repeat(25)}`);
    expect(cut?.omittedChars).toBe(125);
  });

  it.each([
    { name: "between two characters", text: "ab", index: 1, head: 1, tail: 1 },
    { name: "inside a pair", text: "a😀b", index: 2, head: 1, tail: 3 },
    { name: "behind a pair", text: "a😀b", index: 3, head: 3, tail: 3 },
    { name: "before a pair", text: "a😀b", index: 1, head: 1, tail: 1 },
    { name: "behind half a pair", text: "\ud83db", index: 1, head: 1, tail: 1 },
    { name: "before half a pair", text: "a\ude00", index: 1, head: 1, tail: 1 },
    { name: "inside a line break", text: "a\r\nb", index: 2, head: 1, tail: 3 },
    { name: "behind a carriage return", text: "a\rb", index: 2, head: 2, tail: 2 },
    { name: "before a line feed", text: "ab\nc", index: 2, head: 2, tail: 2 },
    { name: "at the start", text: "😀", index: 0, head: 0, tail: 0 },
    { name: "at the end", text: "😀", index: 2, head: 2, tail: 2 },
  ])("$name is made at $head or $tail", ({ text, index, head, tail }) => {
    expect(headCut(text, index)).toBe(head);
    expect(tailCut(text, index)).toBe(tail);
  });

  it("is made by the documented function from the beginning, or from both ends", () => {
    const text = `${"h".repeat(100)}${"t".repeat(100)}`;
    expect(truncateWithStrategy(text, 100, false)).toBe("h".repeat(100) + truncationMarker(100, "head"));
    expect(truncateWithStrategy(text, 100, true)).toBe(
      "h".repeat(80) + truncationMarker(100, "head-tail") + "t".repeat(20),
    );
  });
});
