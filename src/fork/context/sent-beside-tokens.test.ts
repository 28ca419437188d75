import { expect, it } from "vitest";
import type { Message, Transcript } from "../../transcript/message.ts";
import { overheadTokens } from "./choose-way.ts";

const tokensOf = (messages: Transcript): number => messages.length * 10;

function answer(id: string, inputTokens: number, change: Partial<Message> = {}): Message {
  const usage = {
    inputTokens,
    outputTokens: 1,
    reasoningTokens: 0,
    cacheReadTokens: 50,
    cacheWriteTokens: 5,
  };
  return { id, role: "assistant", parts: [], usage, ...change };
}

const question: Message = { id: "u", role: "user", parts: [] };

it("is what the newest answer's request counted beyond the messages before it", () => {
  expect(overheadTokens([question, answer("a", 20), answer("b", 100)], tokensOf)).toBe(135);
});

it("is not read from the request of a summary, which holds other messages", () => {
  const list = [question, answer("a", 20), answer("s", 900, { summary: true })];
  expect(overheadTokens(list, tokensOf)).toBe(65);
});

it("is nothing where nothing was counted, and never less", () => {
  expect(overheadTokens([question], tokensOf)).toBe(0);
  expect(overheadTokens([question, answer("a", 0)], tokensOf)).toBe(0);
  expect(overheadTokens(Array.from({ length: 30 }, () => question).concat(answer("a", 20)), tokensOf)).toBe(
    0,
  );
});
