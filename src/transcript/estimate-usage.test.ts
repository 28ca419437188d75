import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { unroundedTokens } from "../text/tokens/estimate-tokens.ts";
import { observeUsage, usageTotalTokens } from "./estimate-context.ts";
import type { Message, Transcript, Usage } from "./message.ts";
import type { Part } from "./part.ts";

const prompt = (inputTokens: number, cacheReadTokens = 0): Usage => ({
  inputTokens,
  outputTokens: 50,
  reasoningTokens: 0,
  cacheReadTokens,
  cacheWriteTokens: 0,
});
const model = { provider: "anthropic", id: "claude-opus-4-6" };
const output = "const answer = compute(question);\n".repeat(50);
const call: Part = {
  type: "tool",
  callId: "1",
  tool: "read",
  input: { path: "src/a.ts" },
  outcome: { status: "done", output, attachments: [] },
};

function session(change: Partial<Message> = {}, between: readonly Message[] = []): Transcript {
  return deepFreeze([
    { id: "u", role: "user", parts: [{ type: "text", text: "go" }] },
    { id: "a", role: "assistant", parts: [call], usage: prompt(100, 900), model, ...change },
    ...between,
    { id: "b", role: "assistant", parts: [{ type: "text", text: "done" }], usage: prompt(200, 1800), model },
  ]);
}

describe("observeUsage", () => {
  it("compares the growth of the prompt with the text that was added", () => {
    const expected = ["read", JSON.stringify({ path: "src/a.ts" }), output].reduce(
      (sum, text) => sum + unroundedTokens(text, "calibrated"),
      0,
    );
    expect(observeUsage(session(), { epoch: 4 })).toEqual({
      model: "claude-opus-4-6",
      epoch: 4,
      estimatedTokens: expected,
      usageTokens: 1000 - 12,
    });
  });

  it("leaves out what the family pays for a call", () => {
    expect(observeUsage(session(), { epoch: 0, family: "claude" })?.usageTokens).toBe(1000 - 95);
  });

  it.each<{ name: string; messages: Transcript }>([
    { name: "there is one usage only", messages: session().slice(0, 2) },
    { name: "there are no messages", messages: [] },
    { name: "the models differ", messages: session({ model: { provider: "openai", id: "gpt-5" } }) },
    { name: "the older answer failed", messages: session({ error: { name: "APIError", text: "" } }) },
    {
      name: "there was reasoning, which providers may drop",
      messages: session({ parts: [{ type: "reasoning", text: "hmm" }, call] }),
    },
    {
      name: "there was an image",
      messages: session({}, [{ id: "i", role: "user", parts: [{ type: "file", mime: "image/png" }] }]),
    },
    {
      name: "a summary came between",
      messages: session({}, [{ id: "s", role: "assistant", summary: true, parts: [] }]),
    },
  ])("says nothing when $name", ({ messages }) => {
    expect(observeUsage(messages, { epoch: 0 })).toBeUndefined();
  });

  it("says nothing when the older usage is from before the epoch", () => {
    expect(observeUsage(session(), { epoch: 0, epochStartIndex: 2 })).toBeUndefined();
    expect(observeUsage(session(), { epoch: 0, epochStartIndex: 1 })).toBeDefined();
  });
});

it("takes the provider's total, else the sum of prompt, cache and answer", () => {
  expect(usageTotalTokens({ ...prompt(100, 900), totalTokens: 77 })).toBe(77);
  expect(usageTotalTokens(prompt(100, 900))).toBe(1050);
  expect(usageTotalTokens(undefined)).toBe(0);
});
