import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "../../test/rig/random-history/random-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { ConfigurationError } from "../text/check.ts";
import { normalizeText } from "../text/normalize.ts";
import {
  DEFAULT_TOOL_OUTPUT_LIMITS,
  isWithinLimits,
  measureText,
  resolveToolOutputLimits,
  type TextSize,
  textSize,
} from "./limits.ts";

const OFF = { maxLines: 0, maxBytes: 0, maxChars: 0, largeOutputThreshold: 0, truncateMode: "head_tail" };

describe("the limits of tool output", () => {
  it("have the documented defaults (TOOLOUT-1)", () => {
    expect(DEFAULT_TOOL_OUTPUT_LIMITS).toEqual({
      maxLines: 2_000,
      maxBytes: 51_200,
      maxChars: 204_800,
      largeOutputThreshold: 204_800,
      truncateMode: "head_tail",
    });
    expect(resolveToolOutputLimits()).toBe(DEFAULT_TOOL_OUTPUT_LIMITS);
  });

  it.each([
    { name: "are off when not given", raw: {}, changed: {} },
    { name: "are off when undefined", raw: { maxLines: undefined, truncateMode: undefined }, changed: {} },
    { name: "are off at 0", raw: { maxLines: 0, largeOutputThreshold: 0 }, changed: {} },
    { name: "are off at Infinity", raw: { maxBytes: Number.POSITIVE_INFINITY }, changed: {} },
    { name: "are rounded down", raw: { maxChars: 10.9 }, changed: { maxChars: 10 } },
    {
      name: "take a negative threshold for the default",
      raw: { largeOutputThreshold: -1 },
      changed: { largeOutputThreshold: 204_800 },
    },
    { name: "take an empty mode for head_tail", raw: { truncateMode: "" }, changed: {} },
    { name: "know the mode head", raw: { truncateMode: "head" }, changed: { truncateMode: "head" } },
  ])("$name (TOOLOUT-3)", ({ raw, changed }) => {
    expect(resolveToolOutputLimits(raw)).toEqual({ ...OFF, ...changed });
  });

  it("are the same when resolved twice", () => {
    for (const raw of [{}, { maxLines: 3, maxBytes: Infinity }, DEFAULT_TOOL_OUTPUT_LIMITS]) {
      const once = resolveToolOutputLimits(raw);
      expect(resolveToolOutputLimits(once)).toEqual(once);
    }
  });

  it.each([
    { raw: { truncateMode: "tail" }, problem: 'truncateMode is "tail"' },
    { raw: { truncateMode: 3 }, problem: "truncateMode is 3" },
    { raw: { maxLines: Number.NaN }, problem: "maxLines is NaN" },
    { raw: { largeOutputThreshold: Number.NaN }, problem: "largeOutputThreshold is NaN" },
    { raw: { maxBytes: -1 }, problem: "maxBytes is -1" },
    { raw: { maxChars: 0.5 }, problem: "maxChars is 0.5" },
    { raw: { maxChars: "10" }, problem: 'maxChars is "10"' },
    { raw: { maxLine: 10 }, problem: "maxLine is not an option; did you mean maxLines?" },
    { raw: JSON.parse('{"__proto__": {"maxLines": 1}}'), problem: "__proto__ is not an option" },
    { raw: null, problem: "the options are null" },
    { raw: [1], problem: "the options are a list" },
    { raw: "2000", problem: 'the options are "2000"' },
  ])("refuse $problem", ({ raw, problem }) => {
    expect(() => resolveToolOutputLimits(raw)).toThrow(problem);
  });

  it("list every problem at once (INT-5)", () => {
    const raw = { maxLines: -1, maxBytes: Number.NaN, truncateMode: "middle", lines: 3 };
    try {
      resolveToolOutputLimits(raw);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigurationError);
      expect((error as ConfigurationError).problems).toHaveLength(4);
    }
  });

  it("hold for a size that is exactly as large, in every unit", () => {
    const limits = resolveToolOutputLimits({ maxLines: 2, maxChars: 3, maxBytes: 4 });
    const size = { lines: 2, chars: 3, bytes: 4 };
    expect(isWithinLimits(size, limits)).toBe(true);
    for (const unit of ["lines", "chars", "bytes"] as const) {
      expect(isWithinLimits({ ...size, [unit]: size[unit] + 1 }, limits)).toBe(false);
    }
  });
});

/** The same counts the plain way. */
function countPlainly(text: string): TextSize {
  const lines = text.split(/\r?\n/);
  return {
    lines: lines.at(-1) === "" ? lines.length - 1 : lines.length,
    chars: [...text].length,
    bytes: Buffer.byteLength(text),
  };
}

describe("textSize", () => {
  it.each([
    { text: "", lines: 0, chars: 0, bytes: 0 },
    { text: "a", lines: 1, chars: 1, bytes: 1 },
    { text: "a\n", lines: 1, chars: 2, bytes: 2 },
    { text: "a\r\nb\r\n", lines: 2, chars: 6, bytes: 6 },
    { text: "\n\n", lines: 2, chars: 2, bytes: 2 },
    { text: "é漢😀", lines: 1, chars: 3, bytes: 9 },
  ])("counts $text as $lines lines, $chars characters, $bytes bytes (TOOLOUT-12)", ({ text, ...size }) => {
    expect(textSize(text)).toEqual(size);
  });

  it("counts any text as plain counting does, also where the passes over it meet", () => {
    const long = fc
      .record({
        text: anyText,
        lead: fc.integer({ min: 65_520, max: 65_540 }),
        fill: fc.constantFrom("a", "\n", "é"),
      })
      .map(({ text, lead, fill }) => fill.repeat(lead) + text + fill.repeat(70_000) + text);
    fc.assert(
      fc.property(fc.oneof({ arbitrary: anyText, weight: 9 }, { arbitrary: long, weight: 1 }), (raw) => {
        const text = raw.toWellFormed();
        expect(textSize(text)).toEqual(countPlainly(text));
      }),
      { numRuns: runs(500) },
    );
  });
});

describe("surveyText", () => {
  it("never calls a text normal that normalizing would change", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 65_530, max: 65_537 }), (raw, lead) => {
        for (const text of [raw.toWellFormed(), "a".repeat(lead) + raw.toWellFormed()]) {
          if (measureText(text).isNormal) expect(normalizeText(text)).toBe(text);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  it("calls plain text, emoji and line breaks of both kinds normal", () => {
    for (const text of ["plain\tlog\n".repeat(20_000), "❤️ 👩‍💻 1️⃣\r\n", "日本語\r\n".repeat(30_000)]) {
      expect(measureText(text).isNormal).toBe(true);
    }
  });

  it("finds one escape sequence in a long text", () => {
    expect(measureText(`${"a".repeat(200_000)}\x1b[0m`).isNormal).toBe(false);
  });
});
