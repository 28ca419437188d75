import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Usage } from "../../transcript/message.ts";
import {
  isOverflow,
  type ModelLimits,
  OUTPUT_TOKEN_MAX,
  type OverflowSettings,
  readOutputCap,
  usableTokens,
} from "./overflow.ts";

const usage = (counts: Partial<Usage>): Usage => ({
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  ...counts,
});
const limits = (contextTokens: number, outputTokens: number, inputTokens?: number): ModelLimits =>
  inputTokens === undefined ? { contextTokens, outputTokens } : { contextTokens, outputTokens, inputTokens };
const now: Partial<OverflowSettings> = { formula: "opencode" };
const ask = (counts: Partial<Usage>, model: ModelLimits, settings: Partial<OverflowSettings> = {}) =>
  isOverflow(deepFreeze({ usage: usage(counts), limits: model, settings }));

describe("usableTokens", () => {
  it.each([
    {
      name: "the window less the model's output",
      limits: limits(200_000, 8_000),
      usable: 192_000,
    },
    {
      name: "the output counts up to 32,000",
      limits: limits(200_000, 64_000),
      usable: 168_000,
    },
    {
      name: "an unknown output takes the whole cap",
      limits: limits(200_000, 0),
      usable: 168_000,
    },
    {
      name: "an input limit replaces the arithmetic",
      limits: limits(400_000, 128_000, 272_000),
      usable: 272_000,
    },
    { name: "an input limit of 0 is none", limits: limits(200_000, 8_000, 0), usable: 192_000 },
    {
      name: "a reserve below an input limit, at most 20,000",
      limits: limits(400_000, 128_000, 272_000),
      settings: now,
      usable: 252_000,
    },
    {
      name: "a small output makes a small reserve",
      limits: limits(400_000, 4_000, 272_000),
      settings: now,
      usable: 268_000,
    },
    {
      name: "a configured reserve",
      limits: limits(400_000, 128_000, 272_000),
      settings: { ...now, reservedTokens: 0 },
      usable: 272_000,
    },
    {
      name: "without an input limit the reserve is the output",
      limits: limits(200_000, 8_000),
      settings: now,
      usable: 192_000,
    },
    { name: "never below 0", limits: limits(400_000, 128_000, 10_000), settings: now, usable: 0 },
    {
      name: "the seed profile knows no reserve",
      limits: limits(400_000, 128_000, 272_000),
      settings: { reservedTokens: 50_000 },
      usable: 272_000,
    },
    {
      name: "a host may pass another cap",
      limits: limits(200_000, 64_000),
      settings: { outputCapTokens: 50_000 },
      usable: 150_000,
    },
    {
      name: "a cap that is no number falls back to the default",
      limits: limits(200_000, 64_000),
      settings: { outputCapTokens: Number.NaN },
      usable: 168_000,
    },
  ])("$name", ({ limits: model, settings, usable }) => {
    expect(usableTokens(model, settings)).toBe(usable);
  });

  it("reads the cap of an environment variable and ignores what is not a positive number", () => {
    expect(readOutputCap("64000")).toBe(64_000);
    expect(readOutputCap(" 4096.7 ")).toBe(4_096);
    for (const bad of [undefined, "", "  ", "lots", "-5", "0", "Infinity"])
      expect(readOutputCap(bad)).toBe(OUTPUT_TOKEN_MAX);
  });
});

describe("isOverflow", () => {
  const model = limits(200_000, 32_000);

  it.each([
    {
      name: "input, cache reads and output count",
      counts: { inputTokens: 8_000, cacheReadTokens: 150_000, outputTokens: 10_001 },
      overflow: true,
    },
    {
      name: "exactly full is not an overflow",
      counts: { inputTokens: 8_000, cacheReadTokens: 150_000, outputTokens: 10_000 },
      overflow: false,
    },
    {
      name: "reasoning does not count",
      counts: { inputTokens: 168_000, reasoningTokens: 20_000 },
      overflow: false,
    },
    {
      name: "cache writes do not count",
      counts: { inputTokens: 18_000, cacheWriteTokens: 160_000 },
      overflow: false,
    },
    {
      name: "exactly full overflows",
      counts: { inputTokens: 168_000 },
      settings: now,
      overflow: true,
    },
    {
      name: "one below does not",
      counts: { inputTokens: 167_999 },
      settings: now,
      overflow: false,
    },
    {
      name: "cache writes count",
      counts: { inputTokens: 18_000, cacheWriteTokens: 160_000 },
      settings: now,
      overflow: true,
    },
    {
      name: "the provider's total wins",
      counts: { inputTokens: 1_000, totalTokens: 170_000 },
      settings: now,
      overflow: true,
    },
    {
      name: "a total of 0 is none",
      counts: { inputTokens: 170_000, totalTokens: 0 },
      settings: now,
      overflow: true,
    },
  ])("$name", ({ counts, settings, overflow }) => {
    expect(ask(counts, model, settings)).toMatchObject({
      overflow,
      reason: overflow ? "over-usable" : "fits",
    });
  });

  it("auto off and an unknown window answer before anything is compared", () => {
    const full = { inputTokens: 900_000 };
    expect(ask(full, model, { auto: false })).toMatchObject({
      overflow: false,
      reason: "auto-off",
      disagreement: false,
    });
    for (const contextTokens of [0, -1, Number.NaN]) {
      expect(ask(full, limits(contextTokens, 32_000, 1_000))).toMatchObject({
        overflow: false,
        reason: "no-context-limit",
      });
    }
  });

  it("says when the other profile would decide otherwise", () => {
    expect(ask({ inputTokens: 10, cacheWriteTokens: 170_000 }, model)).toMatchObject({
      overflow: false,
      disagreement: true,
    });
    expect(ask({ inputTokens: 168_000 }, model)).toMatchObject({ overflow: false, disagreement: true });
    expect(ask({ inputTokens: 168_000 }, model, now)).toMatchObject({ overflow: true, disagreement: true });
    expect(ask({ inputTokens: 200_000 }, model)).toMatchObject({ overflow: true, disagreement: false });
    expect(ask({ inputTokens: 10 }, model)).toMatchObject({ overflow: false, disagreement: false });
  });

  it("a reserve as large as the window never overflows and says why", () => {
    expect(ask({ inputTokens: 9_000 }, limits(8_192, 32_000))).toMatchObject({
      overflow: false,
      reason: "no-usable-window",
      usableTokens: 0,
    });
    expect(ask({ inputTokens: 9_000 }, limits(32_000, 0))).toMatchObject({
      overflow: false,
      reason: "no-usable-window",
    });
  });

  it("missing, zero and malformed usage is not an overflow", () => {
    const malformed: unknown[] = [
      undefined,
      null,
      "many",
      5,
      [],
      {},
      { inputTokens: "many" },
      { inputTokens: Number.NaN },
    ];
    for (const each of malformed) {
      expect(isOverflow({ usage: each as Usage, limits: model })).toMatchObject({
        overflow: false,
        reason: "no-usage",
      });
    }
    expect(ask({}, model)).toMatchObject({ overflow: false, reason: "no-usage" });
  });

  it("number-like texts count and negative values are 0", () => {
    const odd = { inputTokens: "170000", outputTokens: -5_000, cacheReadTokens: "-1" } as unknown as Usage;
    expect(isOverflow({ usage: odd, limits: model })).toMatchObject({ overflow: true, countTokens: 170_000 });
  });

  it("gives the counts it compared", () => {
    expect(
      ask({ inputTokens: 5, outputTokens: 7, cacheReadTokens: 11, cacheWriteTokens: 13 }, model),
    ).toEqual({
      overflow: false,
      reason: "fits",
      countTokens: 23,
      usableTokens: 168_000,
      disagreement: false,
    });
    expect(ask({ inputTokens: 5, cacheWriteTokens: 13 }, model, now).countTokens).toBe(18);
  });

  it("more tokens never turn an overflow into a fit", () => {
    const count = fc.nat(400_000);
    fc.assert(
      fc.property(
        count,
        count,
        count,
        fc.constantFrom("documented", "opencode"),
        (input, output, more, formula) => {
          const before = ask({ inputTokens: input, outputTokens: output }, model, { formula });
          const after = ask({ inputTokens: input + more, outputTokens: output }, model, { formula });
          expect(before.overflow && !after.overflow).toBe(false);
        },
      ),
    );
  });
});
