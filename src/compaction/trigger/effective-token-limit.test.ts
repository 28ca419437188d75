import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { DEFAULT_COMPACTION_SETTINGS as defaults } from "./compaction-settings.ts";
import { effectiveKeepRecentTokens, effectiveTokenLimit } from "./token-limit.ts";

describe("effectiveTokenLimit", () => {
  it.each([
    {
      name: "the window less the reserve",
      window: 200_000,
      limitTokens: 183_616,
      source: "context_window",
    },
    {
      name: "an unknown window gives maxTokens",
      window: 0,
      limitTokens: 8_000,
      source: "max_tokens",
    },
    { name: "a negative window is unknown", window: -1, limitTokens: 8_000, source: "max_tokens" },
    {
      name: "a window that is no number is unknown",
      window: Number.NaN,
      limitTokens: 8_000,
      source: "max_tokens",
    },
    {
      name: "a reserve above the window gives maxTokens, within 80 % of the window",
      window: 8_192,
      limitTokens: 6_553,
      source: "max_tokens",
    },
    {
      name: "a window equal to the reserve has no room either",
      window: 16_384,
      limitTokens: 8_000,
      source: "max_tokens",
    },
    {
      name: "one token of room is a limit",
      window: 16_385,
      limitTokens: 1,
      source: "context_window",
    },
  ])("$name", ({ window, limitTokens, source }) => {
    expect(effectiveTokenLimit(defaults, window)).toEqual({ limitTokens, source });
  });

  it("there is no limit when neither window nor maxTokens give one", () => {
    expect(effectiveTokenLimit({ ...defaults, maxTokens: 0 }, 0)).toEqual({
      limitTokens: undefined,
      source: "none",
    });
    expect(effectiveTokenLimit({ ...defaults, maxTokens: 0 }, 8_192)).toEqual({
      limitTokens: undefined,
      source: "none",
    });
  });

  it("a reserve of 0 is allowed, one that is no number is the default", () => {
    expect(effectiveTokenLimit({ ...defaults, reserveTokens: 0 }, 8_192).limitTokens).toBe(8_192);
    expect(effectiveTokenLimit({ ...defaults, reserveTokens: Number.NaN }, 200_000).limitTokens).toBe(
      183_616,
    );
  });

  it.each([
    { name: "in tokens", threshold: { tokens: 60_000 }, window: 200_000, limitTokens: 60_000 },
    {
      name: "in tokens where the window is unknown",
      threshold: { tokens: 60_000 },
      window: 0,
      limitTokens: 60_000,
    },
    {
      name: "in tokens, within the window",
      threshold: { tokens: 900_000 },
      window: 200_000,
      limitTokens: 200_000,
    },
    { name: "in percent of the window", threshold: { percent: 75 }, window: 200_000, limitTokens: 150_000 },
  ])("a model may have a threshold of its own: $name", ({ threshold, window, limitTokens }) => {
    const settings = { ...defaults, thresholds: { "acme/large": threshold } };
    const model = { provider: "acme", id: "large" };
    expect(effectiveTokenLimit(settings, { contextWindowTokens: window, model })).toEqual({
      limitTokens,
      source: "threshold",
    });
    expect(
      effectiveTokenLimit(settings, { contextWindowTokens: window, model: { provider: "acme", id: "small" } })
        .source,
    ).not.toBe("threshold");
  });

  it("a percentage of an unknown window is no threshold", () => {
    const settings = { ...defaults, thresholds: { "acme/large": { percent: 75 } } };
    expect(
      effectiveTokenLimit(settings, { contextWindowTokens: 0, model: { provider: "acme", id: "large" } }),
    ).toEqual({
      limitTokens: 8_000,
      source: "max_tokens",
    });
  });

  it("a limit is above 0 and within a known window, whatever the settings", () => {
    const settings = fc.record({ maxTokens: fc.integer(), reserveTokens: fc.integer() });
    fc.assert(
      fc.property(settings, fc.integer({ min: -10, max: 2_000_000 }), (each, window) => {
        const { limitTokens } = effectiveTokenLimit(each, window);
        if (limitTokens === undefined) return;
        expect(limitTokens).toBeGreaterThan(0);
        if (window > 0) expect(limitTokens).toBeLessThanOrEqual(window);
      }),
    );
  });
});

describe("the limit in the default profile", () => {
  const limitOf = (contextWindowTokens: number, overheadTokens = 0, reserveTokens = defaults.reserveTokens) =>
    effectiveTokenLimit(
      { ...defaults, reserveTokens },
      { contextWindowTokens, overheadTokens, profile: "default" },
    ).limitTokens ?? 0;

  it.each([
    { name: "the window less the reserve where it is large", window: 200_000, limit: 183_616 },
    { name: "three quarters of a small one", window: 16_000, limit: 12_000 },
    { name: "not one token where the reserve is one less than the window", window: 16_385, limit: 12_289 },
    { name: "no less above that", window: 20_000, limit: 15_000 },
    {
      name: "half of what system prompt and tools leave",
      window: 32_000,
      overhead: 20_000,
      limit: 26_000,
    },
    { name: "the window where they take all of it", window: 8_000, overhead: 9_000, limit: 8_000 },
    { name: "as set where a smaller reserve is set", window: 16_000, reserve: 1_000, limit: 15_000 },
  ])("is $name", ({ window, overhead, reserve, limit }) => {
    expect(limitOf(window, overhead, reserve)).toBe(limit);
  });

  it("rises with the window and leaves at least half of what is free, at any overhead", () => {
    const anyWindow = fc.integer({ min: 1_000, max: 2_000_000 });
    const anyReserve = fc.oneof(fc.constant(defaults.reserveTokens), fc.nat(100_000));
    const anyStep = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.nat(1_000_000));
    fc.assert(
      fc.property(
        anyWindow,
        fc.double({ min: 0, max: 0.95, noNaN: true }),
        anyReserve,
        anyStep,
        (window, share, reserve, step) => {
          const overhead = Math.floor(window * share);
          const limit = limitOf(window, overhead, reserve);
          expect(limit).toBeLessThanOrEqual(window);
          expect(limit - overhead).toBeGreaterThanOrEqual((window - overhead) / 2);
          expect(limitOf(window + step, overhead, reserve)).toBeGreaterThanOrEqual(limit);
          const grown = Math.floor((window + step) * share);
          expect(limitOf(window + step, grown, reserve)).toBeGreaterThanOrEqual(limit);
        },
      ),
      { numRuns: runs(2_000) },
    );
  });
});

describe("effectiveKeepRecentTokens", () => {
  it.each([
    {
      name: "half of the limit at most",
      keepRecentTokens: 20_000,
      limitTokens: 8_001,
      keep: 4_000,
    },
    {
      name: "as set where that is less",
      keepRecentTokens: 20_000,
      limitTokens: 183_616,
      keep: 20_000,
    },
    {
      name: "as set without a limit",
      keepRecentTokens: 20_000,
      limitTokens: undefined,
      keep: 20_000,
    },
    {
      name: "as set when half of the limit is nothing",
      keepRecentTokens: 20_000,
      limitTokens: 1,
      keep: 20_000,
    },
    { name: "0 when unset", keepRecentTokens: 0, limitTokens: 8_000, keep: 0 },
    { name: "0 when negative", keepRecentTokens: -5, limitTokens: 8_000, keep: 0 },
  ])("$name", ({ keepRecentTokens, limitTokens, keep }) => {
    expect(effectiveKeepRecentTokens({ keepRecentTokens }, { limitTokens })).toBe(keep);
  });
});
