import { describe, expect, it } from "vitest";
import { CACHE_PROFILE_RULE, cacheProfile, NO_CACHE } from "./cache-profile.ts";

describe("cacheProfile", () => {
  const minute = 60_000;
  it.each([
    [
      "claude-opus-5-5",
      undefined,
      { readMultiplier: 0.05, writeMultiplier: 1.25, ttlMs: 5 * minute, minimumTokens: 512 },
    ],
    ["claude-opus-5-5", "1h", { readMultiplier: 0.05, writeMultiplier: 2, ttlMs: 60 * minute }],
    ["claude-fable-5-2", undefined, { readMultiplier: 0.025 }],
    ["claude-opus-4.6", undefined, { readMultiplier: 0.1, minimumTokens: 4_096 }],
    [
      "gpt-6.1-sol",
      undefined,
      { readMultiplier: 0.05, writeMultiplier: 1.25, ttlMs: 30 * minute, stepTokens: 128 },
    ],
    ["gpt-5", undefined, { readMultiplier: 0.1, writeMultiplier: 1, ttlMs: 60 * minute, stepTokens: 128 }],
    ["gpt-4o-mini", undefined, { readMultiplier: 0.5, writeMultiplier: 1 }],
    ["gemini-2.5-pro", undefined, { readMultiplier: 0.1, writeMultiplier: 1, minimumTokens: 2_048 }],
    ["deepseek-flash", undefined, { readMultiplier: 0.02, writeMultiplier: 1, stepTokens: 64 }],
    [
      "glm-5.3",
      undefined,
      { readMultiplier: expect.closeTo(0.26 / 1.4), writeMultiplier: 1, ttlMs: 5 * minute },
    ],
    ["qwen-4", undefined, { readMultiplier: 0.1, writeMultiplier: 1.25, ttlMs: 5 * minute }],
    ["gpt-3.5-turbo", undefined, NO_CACHE],
  ])("of %s for %s", (id, life, expected) => {
    expect(cacheProfile({ id }, life === undefined ? {} : { life })).toMatchObject(expected);
  });

  it("of a model that costs nothing is the usual one", () => {
    const rows = [{ names: ["local"], prices: [{ input: 0, output: 0, cacheRead: 0 }] }];
    expect(cacheProfile({ id: "local" }, { rows })).toMatchObject({
      readMultiplier: 0.1,
      writeMultiplier: 1.25,
    });
  });
});

describe("CACHE_PROFILE_RULE", () => {
  const said = (value: unknown): string =>
    CACHE_PROFILE_RULE.find(value, ["cache"])
      .map(({ text }) => text)
      .join("; ");
  const profile = cacheProfile({ id: "claude-opus-5-5" });

  it.each([
    [profile, /^$/],
    [{ ...profile, stepTokens: 0 }, /^cache\.stepTokens is 0/],
    ["anthropic", /give a profile such as cacheProfile/],
  ])("of %j says %s", (value, expected) => {
    expect(said(value)).toMatch(expected);
  });
});
