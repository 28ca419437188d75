import { expect, it } from "vitest";
import { tokenFamilyOf } from "./token-family.ts";

it.each([
  ["claude-opus-4-6", "claude"],
  ["claude-opus-4-5-20251101", "claude"],
  ["claude-sonnet-4-6", "claude"],
  ["anthropic/claude-sonnet-4.5", "claude-3.7"],
  ["us.anthropic.claude-haiku-4-5-v1:0", "claude-3.7"],
  ["claude-3-7-sonnet-20250219", "claude-3.7"],
  ["claude-opus-4-20250514", "claude-3.7"],
  ["claude-opus-4-1@20250805", "claude-3.7"],
  ["claude-opus-4-7", "claude-4.7"],
  ["claude-opus-4-10", "claude-4.7"],
  ["us.anthropic.claude-opus-5-5-v1:0", "claude-4.7"],
  ["claude-fable-5-1", "claude-4.7"],
  ["fable-5", "claude-4.7"],
  ["claude-sonnet-5@20260701", "claude-4.7"],
  ["sonnet", "claude-4.7"],
  ["gemini-3-pro-preview", "gemini"],
  ["google/gemma-3-27b", "other"],
  ["gpt-5.2-codex", "gpt"],
  ["gpt-4o", "gpt"],
  ["gpt-35-turbo", "gpt"],
  ["gpt-oss-120b", "other"],
  ["gpt-5.4", "gpt"],
  ["openai/gpt-5.5", "gpt-5.5"],
  ["gpt-6.1-sol", "gpt-5.5"],
  ["openai/o3-mini", "gpt"],
  ["o1", "gpt"],
  ["deepseek-v4-flash", "other"],
  ["qwen3-coder", "other"],
  ["phi-o200", "other"],
  ["", "other"],
])("%s counts its tokens as %s does", (model, family) => {
  expect(tokenFamilyOf({ id: model })).toBe(family);
});
