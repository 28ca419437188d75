import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exactTokens } from "../../../scripts/token-model/exact-tokens.ts";
import { counted, heldOutTexts, judge } from "../../../scripts/token-model/judge.ts";
import { BOUNDED_KINDS } from "../../../scripts/token-model/sample-kinds.ts";
import { runs } from "../../../test/rig/runs.ts";
import { estimateInterval, estimateTokens, familyCost } from "./estimate-tokens.ts";

const calibrated = (text: string): number => estimateTokens(text, { estimator: "calibrated" });

describe("estimateTokens, documented", () => {
  it.each([
    { chars: 0, nearest: 0, ceil: 0, floorMin1: 0 },
    { chars: 1, nearest: 0, ceil: 1, floorMin1: 1 },
    { chars: 2, nearest: 1, ceil: 1, floorMin1: 1 },
    { chars: 5, nearest: 1, ceil: 2, floorMin1: 1 },
    { chars: 6, nearest: 2, ceil: 2, floorMin1: 1 },
    { chars: 8, nearest: 2, ceil: 2, floorMin1: 2 },
    { chars: 160_000, nearest: 40_000, ceil: 40_000, floorMin1: 40_000 },
  ])("gives $chars characters $nearest, $ceil or $floorMin1 tokens by rounding", (row) => {
    const text = "x".repeat(row.chars);
    expect(estimateTokens(text)).toBe(row.nearest);
    expect(estimateTokens(text, { rounding: "nearest" })).toBe(row.nearest);
    expect(estimateTokens(text, { rounding: "ceil" })).toBe(row.ceil);
    expect(estimateTokens(text, { rounding: "floor-min-1" })).toBe(row.floorMin1);
  });

  it("is the default", () => {
    expect(estimateTokens("{}".repeat(200))).toBe(
      estimateTokens("{}".repeat(200), { estimator: "documented" }),
    );
  });

  it("counts UTF-16 units, not bytes", () => {
    expect(estimateTokens("中".repeat(400))).toBe(100);
    expect(estimateTokens("😀".repeat(200))).toBe(100);
  });

  it("is the same for every family, so that documented thresholds stay exact", () => {
    expect(estimateTokens("x".repeat(4000), { family: "claude" })).toBe(1000);
  });

  it("is 0 where a text should be and is not", () => {
    expect(estimateTokens(undefined as unknown as string)).toBe(0);
    expect(estimateTokens(12 as unknown as string, { estimator: "calibrated" })).toBe(0);
  });
});

describe("estimateTokens, with a function of one's own", () => {
  it("asks the function and rounds its answer", () => {
    expect(estimateTokens("abc", { estimator: (text) => text.length + 0.4 })).toBe(3);
    expect(estimateTokens("abc", { estimator: (text) => text.length + 0.4, rounding: "ceil" })).toBe(4);
  });

  it.each([
    { name: "not a number", answer: () => Number.NaN },
    { name: "negative", answer: () => -5 },
    { name: "infinite", answer: () => Number.POSITIVE_INFINITY },
    {
      name: "an exception",
      answer: (): number => {
        throw new Error("no tokenizer");
      },
    },
  ])("falls back to the documented estimate when the answer is $name", ({ answer }) => {
    expect(estimateTokens("x".repeat(40), { estimator: answer })).toBe(10);
  });
});

// How well the constants fit says nothing about a wrong line, and takes long: not for a run with few cases.
const isShort = runs(40) < 40;

describe.skipIf(isShort)("estimateTokens, calibrated, on texts made from words the fit has not seen", () => {
  it.each(Object.entries(BOUNDED_KINDS))("%s: mean within 10 %, 95 of 100 within 15 %", (kind, sampler) => {
    const judgement = judge(kind, heldOutTexts(sampler, { seed: 4711, count: 40 }), calibrated);
    expect(Math.abs(judgement.meanError)).toBeLessThanOrEqual(0.1);
    expect(judgement.p95Error).toBeLessThanOrEqual(0.15);
  });

  it("gives an interval that holds at least nine of ten texts", () => {
    const { low, high } = estimateInterval("calibrated");
    const texts = Object.values(BOUNDED_KINDS).flatMap((sampler) =>
      heldOutTexts(sampler, { seed: 4712, count: 8 }),
    );
    const inside = texts.filter(({ text, tokens }) => {
      const ratio = tokens / calibrated(text);
      return ratio >= low && ratio <= high;
    });
    expect(inside.length / texts.length).toBeGreaterThanOrEqual(0.9);
  });
});

describe.skipIf(isShort)("estimateTokens, calibrated, on files that were never used to fit it", () => {
  const root = new URL("../../../", import.meta.url);
  it.each([
    { kind: "lock file", file: "package-lock.json" },
    { kind: "declarations", file: "node_modules/vite/dist/node/index.d.ts" },
    { kind: "declarations", file: "node_modules/commander/typings/index.d.ts" },
    { kind: "JavaScript", file: "node_modules/commander/lib/command.js" },
    { kind: "Markdown", file: "node_modules/commander/Readme.md" },
    { kind: "Markdown", file: "node_modules/fast-check/README.md" },
  ])("$kind, $file: mean within 10 %, 95 of 100 within 15 %", ({ kind, file }) => {
    const text = readFileSync(new URL(file, root), "utf8");
    const chunks = text.slice(0, 400_000).match(/.{4000}/gs) ?? [text];
    const judgement = judge(kind, chunks.map(counted), calibrated);
    expect(Math.abs(judgement.meanError)).toBeLessThanOrEqual(0.1);
    expect(judgement.p95Error).toBeLessThanOrEqual(0.15);
  });
});

describe("estimateTokens, calibrated", () => {
  it("counts a short exchange about as o200k does", () => {
    const text = "Run the tests, then fix what fails in src/index.ts. Thanks!";
    expect(Math.abs(calibrated(text) - exactTokens(text))).toBeLessThanOrEqual(2);
  });

  it.each([
    ["the three most frequent", "的是不"],
    ["frequent ones of the middle", "来家说"],
    ["one of the last", "高黑龙"],
  ])("takes a common ideograph for fewer tokens than a rare one: %s", (_, common) => {
    const rare = calibrated("鼗齉龘".repeat(100));
    expect(calibrated(common.repeat(100))).toBeLessThan(rare / 1.5);
    expect(calibrated("丌丏丒".repeat(100))).toBeGreaterThan(rare / 1.5);
  });

  it("counts more tokens for a family whose tokens are smaller", () => {
    const text = "some words of a text ".repeat(100);
    const ofClaude = estimateTokens(text, { estimator: "calibrated", family: "claude" });
    expect(ofClaude / calibrated(text)).toBeCloseTo(1.13, 2);
  });

  it("does not take a run of one character for less than nothing or for a token each", () => {
    for (const character of [" ", "\n", "\t", "-", "=", "a", "0", "é", "中", "\u200b"]) {
      const tokens = calibrated(character.repeat(10_000));
      expect(tokens).toBeGreaterThanOrEqual(0);
      expect(tokens).toBeLessThanOrEqual(15_000);
    }
  });
});

describe("estimateTokens, for any text", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "binary", maxLength: 400 }),
    fc.string({ unit: "grapheme", maxLength: 400 }),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 400 })
      .map((units) => String.fromCharCode(...units)),
  );
  const anyOptions = fc.record(
    {
      estimator: fc.constantFrom("documented" as const, "calibrated" as const),
      rounding: fc.constantFrom("nearest" as const, "ceil" as const, "floor-min-1" as const),
      family: fc.constantFrom(
        "gpt" as const,
        "claude" as const,
        "claude-4.7" as const,
        "gemini" as const,
        "other" as const,
      ),
    },
    { requiredKeys: [] },
  );

  it("is a whole number, never negative, and the same each time", () => {
    fc.assert(
      fc.property(anyText, anyOptions, (text, options) => {
        const tokens = estimateTokens(text, options);
        expect(Number.isSafeInteger(tokens) && tokens >= 0).toBe(true);
        expect(estimateTokens(text, options)).toBe(tokens);
      }),
      { numRuns: runs(500) },
    );
  });

  it("never falls when text is appended", () => {
    fc.assert(
      fc.property(anyText, anyText, anyOptions, (text, more, options) => {
        expect(estimateTokens(text + more, options)).toBeGreaterThanOrEqual(estimateTokens(text, options));
      }),
      { numRuns: runs(500) },
    );
  });

  const hostile = new URL("../../../../shared/fixtures/hostile-inputs.mjs", import.meta.url);
  if (!existsSync(hostile)) console.log("estimate-tokens: no ../shared/fixtures, hostile texts not tried");
  it.skipIf(!existsSync(hostile))("takes every hostile text", async () => {
    const { texts } = (await import(/* @vite-ignore */ hostile.href)) as {
      texts: () => readonly { readonly id: string; readonly text: string }[];
    };
    for (const { id, text } of texts()) {
      for (const estimator of ["documented", "calibrated"] as const) {
        const tokens = estimateTokens(text, { estimator });
        expect(Number.isSafeInteger(tokens) && tokens >= 0, id).toBe(true);
      }
    }
  });
});

it("gives the calibrated estimate a narrower interval than any other", () => {
  const calibratedInterval = estimateInterval("calibrated");
  const documented = estimateInterval("documented");
  expect(calibratedInterval.low).toBeGreaterThan(documented.low);
  expect(calibratedInterval.high).toBeLessThan(documented.high);
  expect(calibratedInterval.low).toBeLessThan(1);
  expect(estimateInterval((text) => text.length)).toBe(documented);
});

it("counts by classes of characters where it is calibrated, and asks a function for nothing less", () => {
  expect(calibrated("{}".repeat(50))).not.toBe(estimateTokens("{}".repeat(50)));
  expect(calibrated("")).toBe(0);
  expect(estimateTokens("", { estimator: () => 7 })).toBe(0);
  expect(estimateTokens("abcd", { estimator: () => 0 })).toBe(0);
});

it("errs on the high side for every family but the one that was fitted", () => {
  expect(familyCost("gpt").scale).toBe(1);
  for (const family of ["claude", "gemini", "other"] as const)
    expect(familyCost(family).scale).toBeGreaterThan(1);
});

it("counts the same text by half as much again for Claude since 4.7", () => {
  expect(familyCost("claude-4.7").scale / familyCost("claude").scale).toBeCloseTo(1.46, 2);
  expect(familyCost("claude-3.7").scale).toBe(familyCost("claude").scale);
});
