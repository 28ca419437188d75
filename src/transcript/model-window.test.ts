import { expect, it } from "vitest";
import type { Message } from "./message.ts";
import { modelWindowOf } from "./model-window.ts";

function answer(id: string, promptTokens = 1_000): Message {
  return {
    id: `${id} ${promptTokens}`,
    role: "assistant",
    parts: [],
    model: { provider: "gateway", id },
    usage: {
      inputTokens: 0,
      outputTokens: 1,
      reasoningTokens: 0,
      cacheReadTokens: promptTokens,
      cacheWriteTokens: 0,
    },
  };
}

it.each([
  ["the newest model", [answer("gpt-5"), answer("claude-opus-5-5")], {}, 1_000_000, true],
  ["the most input, where that is less", [answer("gpt-5")], {}, 272_000, true],
  ["what the host recorded", [answer("claude-opus-5-5")], { recordedTokens: 258_400 }, 258_400, true],
  [
    "the next window of the family, where more was taken",
    [answer("claude-opus-4-6", 517_127)],
    {},
    1_000_000,
    false,
  ],
  ["what was taken, where no window is that large", [answer("my-own", 300_000)], {}, 300_000, false],
  [
    "what was taken by another model counts for that one",
    [answer("claude-opus-4-6", 517_127), answer("claude-haiku-4-5")],
    {},
    200_000,
    true,
  ],
  [
    "the newest whose name says something",
    [answer("claude-haiku-4-5"), answer("<synthetic>")],
    {},
    200_000,
    true,
  ],
  ["usage that is no number counts as none", [answer("claude-haiku-4-5", Number.NaN)], {}, 200_000, true],
  ["a usual one", [], {}, 128_000, false],
  ["that of the provider's newest", [], { provider: "anthropic" }, 1_000_000, false],
  ["a user's row", [answer("my-own")], { rows: [{ names: ["my-own"], contextTokens: 9_000 }] }, 9_000, true],
] as const)("%s", (_, transcript, options, tokens, isKnown) => {
  expect(modelWindowOf(transcript, options)).toEqual({ tokens, isKnown });
});
