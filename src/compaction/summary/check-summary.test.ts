import { describe, expect, it } from "vitest";
import { checkSummary, SECRETS_RULE } from "./request.ts";
import { createTextCleaner } from "./text.ts";

const check = (answer: unknown, more: object = {}) =>
  checkSummary(answer, { maxTokens: 100, cleaner: createTextCleaner(), ...more });

describe("checkSummary", () => {
  it.each([
    { name: "prose", answer: "## Goal\nPort the lexer.", text: "## Goal\nPort the lexer." },
    { name: "prose with blanks around it", answer: "\n ## Goal \n", text: "## Goal" },
    { name: "prose behind reasoning", answer: "<think>hm</think>\n## Goal", text: "## Goal" },
    {
      name: "a report of a refusal",
      answer: "## Blocked\nThe agent said: I'm sorry, I can't.",
      text: "## Blocked\nThe agent said: I'm sorry, I can't.",
    },
    {
      name: "prose with a bracket at its start",
      answer: "[src/a.ts] was changed",
      text: "[src/a.ts] was changed",
    },
    { name: "exactly the limit", answer: "x".repeat(400), text: "x".repeat(400) },
  ])("accepts $name", ({ answer, text }) => {
    expect(check(answer)).toEqual({ status: "accepted", text });
  });

  it.each([
    { answer: undefined, reason: "not-text" },
    { answer: { text: "x" }, reason: "not-text" },
    { answer: "", reason: "blank" },
    { answer: "\u200b\u202e \n", reason: "blank" },
    { answer: "<think>never closed", reason: "blank" },
    { answer: "<invoke name='bash'>", reason: "tool-call" },
    { answer: '[{"name":"bash"}]', reason: "not-prose" },
    { answer: '```json\n{"goal":1}\n```', reason: "not-prose" },
    { answer: "I cannot summarize this.", reason: "refusal" },
    { answer: "Unfortunately, I am not able to do that.", reason: "refusal" },
    { answer: `Sure. ${SECRETS_RULE}`, reason: "echo" },
    { answer: "x".repeat(401), reason: "too-long" },
    { answer: "x".repeat(10_000_000), reason: "too-long" },
  ])("refuses $answer: $reason", ({ answer, reason }) => {
    expect(check(answer)).toEqual({ status: "refused", reason });
  });

  it("refuses an answer that only gives back what was asked", () => {
    const record = Array.from({ length: 60 }, (_, n) => `line ${n} of the record`).join("\n");
    const prompt = `<conversation>\n${record}\n</conversation>\nSum it up.`;
    expect(check(record, { maxTokens: 4_000, prompt })).toMatchObject({ reason: "echo" });
  });

  it("refuses an answer longer than all it was made from", () => {
    expect(check("a b c d", { prompt: "short" })).toMatchObject({ reason: "too-long" });
  });

  it("refuses the previous summary twice, not once with something new", () => {
    const previousSummary = "The lexer is ported and the parser is next, as agreed.";
    expect(check(`${previousSummary}\n${previousSummary}`, { previousSummary })).toMatchObject({
      reason: "repeats-itself",
    });
    expect(check(`${previousSummary}\nThe parser is done.`, { previousSummary })).toMatchObject({
      status: "accepted",
    });
  });
});
