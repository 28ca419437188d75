import { describe, expect, it } from "vitest";
import { ConfigurationError, readOptions } from "../text/check.ts";
import {
  DEFAULT_TOOL_OUTPUT_LIMITS,
  isWithinLimits,
  type RawToolOutputLimits,
  resolveToolOutputLimits,
  TOOL_OUTPUT_LIMIT_SHAPE,
} from "./limits.ts";

const OFF = { maxLines: 0, maxBytes: 0, maxChars: 0, largeOutputThreshold: 0, truncateMode: "head_tail" };

describe("the limits of tool output", () => {
  it("have the documented defaults", () => {
    expect(DEFAULT_TOOL_OUTPUT_LIMITS).toEqual({
      maxLines: 2_000,
      maxBytes: 51_200,
      maxChars: 204_800,
      largeOutputThreshold: 204_800,
      truncateMode: "head_tail",
    });
    expect(resolveToolOutputLimits()).toBe(DEFAULT_TOOL_OUTPUT_LIMITS);
  });

  it.each<{ name: string; raw: RawToolOutputLimits; changed: object }>([
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
  ])("$name", ({ raw, changed }) => {
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
    expect(() => readOptions(TOOL_OUTPUT_LIMIT_SHAPE, raw)).toThrow(problem);
  });

  it("list every problem at once", () => {
    const raw = { maxLines: -1, maxBytes: Number.NaN, truncateMode: "middle", lines: 3 };
    try {
      readOptions(TOOL_OUTPUT_LIMIT_SHAPE, raw);
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
