import { expect, it } from "vitest";
import { familyCost, tokenFamilyOf } from "./estimate-tokens.ts";

it.each([
  ["claude-opus-4-6", "claude"],
  ["anthropic/claude-sonnet-4.5", "claude"],
  ["us.anthropic.claude-haiku-4-5-v1:0", "claude"],
  ["gemini-3-pro-preview", "gemini"],
  ["google/gemma-3-27b", "gemini"],
  ["gpt-5.2-codex", "gpt"],
  ["openai/o3-mini", "gpt"],
  ["o1", "gpt"],
  ["deepseek-v4-flash", "other"],
  ["qwen3-coder", "other"],
  ["phi-o200", "other"],
  ["", "other"],
])("%s counts its tokens as %s does", (model, family) => {
  expect(tokenFamilyOf(model)).toBe(family);
});

it("errs on the high side for every family but the one that was fitted", () => {
  expect(familyCost("gpt").scale).toBe(1);
  for (const family of ["claude", "gemini", "other"] as const)
    expect(familyCost(family).scale).toBeGreaterThan(1);
});
