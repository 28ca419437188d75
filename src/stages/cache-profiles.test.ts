import { describe, expect, it } from "vitest";
import { CACHE_PROFILE_RULE, CACHE_PROFILES, cacheProfileFor } from "./cache-profiles.ts";

describe("CACHE_PROFILES", () => {
  it.each(Object.entries(CACHE_PROFILES))(
    "%s never charges less for writing than for reading",
    (_, profile) => {
      expect(profile.readMultiplier).toBeLessThanOrEqual(profile.writeMultiplier);
      expect(profile.readMultiplier).toBeGreaterThan(0);
      expect(profile.stepTokens).toBeGreaterThanOrEqual(1);
      expect(profile.ttlMs % 60_000).toBe(0);
    },
  );
});

describe("cacheProfileFor", () => {
  it.each([
    ["claude-sonnet-4-5-20250929", "anthropic"],
    ["anthropic/claude-opus-4.6", "anthropic-4.5"],
    ["us.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic-4.5"],
    ["claude-fable-5-1", "anthropic-fable-5.1"],
    ["claude-fable-5", "anthropic"],
    ["gpt-4o-mini", "openai-gpt-4o"],
    ["o1", "openai-gpt-4o"],
    ["openai/o3", "openai-gpt-4.1"],
    ["gpt-4.1-mini", "openai-gpt-4.1"],
    ["gpt-5", "openai-gpt-5"],
    ["gpt-5.5-codex", "openai-gpt-5"],
    ["gpt-5.6", "openai-gpt-5.6"],
    ["gpt-5.10", "openai-gpt-5.6"],
    ["gemini-2.5-pro", "gemini-2.5"],
    ["google/gemini-3.1-pro-preview", "gemini"],
    ["deepseek-flash", "deepseek"],
    ["deepseek-v4-pro", "deepseek-pro"],
    ["llama-3", "none"],
    ["", "none"],
  ] as const)("%s is charged like %s", (id, name) => {
    expect(cacheProfileFor({ id })).toBe(CACHE_PROFILES[name]);
  });
});

describe("CACHE_PROFILE_RULE", () => {
  const said = (value: unknown): string =>
    CACHE_PROFILE_RULE.find(value, ["cache"])
      .map(({ text }) => text)
      .join("; ");

  it.each([
    [CACHE_PROFILES.anthropic, /^$/],
    [{ ...CACHE_PROFILES.anthropic, stepTokens: 0 }, /^cache\.stepTokens is 0/],
    ["anthropic", /give CACHE_PROFILES\["anthropic"\] of carryover\/stages$/],
    ["toString", /give a profile such as CACHE_PROFILES\.anthropic of carryover\/stages$/],
    [5, /give a profile such as CACHE_PROFILES\.anthropic of carryover\/stages$/],
  ])("of %j says %s", (value, expected) => {
    expect(said(value)).toMatch(expected);
  });
});
