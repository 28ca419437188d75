import { expect, it } from "vitest";
import { formatOf } from "./read-transcript.ts";

const names = [
  "opencode",
  "claude-code",
  "codex",
  "pi",
  "swe-agent",
  "gemini-cli",
  "ai-sdk",
  "anthropic",
  "openai-chat",
  "openai-responses",
  "gemini",
] as const;

it.each(names)("%s has the name it is found by, and takes whatever it is given", (name) => {
  const format = formatOf(name);
  expect(format.name).toBe(name);
  for (const wire of [undefined, null, 4, "x", [], {}, [null, 4, [], {}], { messages: 4, history: 4 }])
    expect(Array.isArray(format.decode(wire))).toBe(true);
});
