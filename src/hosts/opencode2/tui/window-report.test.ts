import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { whatLeft } from "./what-left.ts";
import { contextReport, shortCount, statusLine, windowFill } from "./window-report.ts";

const recorded = (name: string): readonly unknown[] => {
  const file = new URL(`../../../../test/recordings/opencode2/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")).messages;
};

const moment = { atMs: 1, sessionId: "s" };
const cut = {
  ...moment,
  type: "tool-output",
  tool: "shell",
  callId: "c",
  shownChars: 4_000,
  totalChars: 84_000,
} as const;
const batch = (id: string, savedTokens: number) =>
  ({
    ...moment,
    type: "engine",
    record: {
      v: 2,
      type: "delta",
      id,
      step: "prune",
      reason: "over-limit",
      at: 1,
      tokensBefore: savedTokens,
      tokensAfter: 0,
      edits: [{ type: "hide-message", messageId: "m", reason: "pruned" }],
    },
  }) as never;

it("what left is summed up by why, without what was taken back", () => {
  const undone = { ...moment, type: "engine", record: { v: 1, type: "undo", batchId: "b2", at: 2 } } as const;
  expect(whatLeft([cut, cut, batch("b1", 30), batch("b2", 500), undone])).toEqual([
    { why: "long outputs, cut as they came", count: 2, tokens: 40_000, isStored: false },
    { why: "old outputs, pruned, since the window was nearly full", count: 1, tokens: 30, isStored: true },
  ]);
});

it("the report says what fills the window, what left it and why", () => {
  const report = contextReport({
    messages: recorded("plain-tools"),
    fill: { tokens: 12_000, limitTokens: 200_000 },
    left: whatLeft([cut, batch("b1", 1_000)]),
  });
  expect(report).toMatchInlineSnapshot(`
    "The window holds 12,000 tokens: 6% of 200,000.

    What fills it
      7.0k  instructions and tool definitions, 59%
      4.9k  tool outputs, 41%
        58  answers and calls, 0%
         8  your messages, 0%

    What left it, and why
       20k  long outputs, cut as they came (1)
      1.0k  old outputs, pruned, since the window was nearly full (1)

    The agent reads what left again with recall."
  `);
});

it("only what stands behind the newest compaction fills the window", () => {
  const report = contextReport({ messages: recorded("compactions"), fill: undefined, left: [] });
  expect(report).toMatchInlineSnapshot(`
    "No answer has come since the window was made: its size is not known yet.

    What fills it
        51  tool outputs, 44%
        50  summaries, 43%
        14  answers and calls, 12%
         2  your messages, 2%

    What left it, and why
            2 compactions"
  `);
});

it("what fills the window is never more than the provider has counted, and instructions have a share of it", () => {
  const user = { id: "msg_1", type: "user", text: "Go.", time: { created: 1 } };
  const tokens = (input: number) => ({ input, output: 50, reasoning: 0, cache: { read: 0, write: 0 } });
  const [model, time] = [
    { id: "m", providerID: "p" },
    { created: 2, completed: 3 },
  ];
  const state = {
    status: "completed",
    input: { command: "yes" },
    content: [{ type: "text", text: "y".repeat(300_000) }],
    structured: {},
  };
  const tool = { type: "tool", id: "c1", name: "shell", state, time };
  const answer = (id: string, content: readonly unknown[], input: number) => ({
    id,
    type: "assistant",
    agent: "build",
    model,
    content,
    tokens: tokens(input),
    time,
  });
  const messages = [
    user,
    answer("msg_2", [tool], 4_000),
    answer("msg_3", [{ type: "text", text: "Done." }], 36_000),
  ];
  const report = contextReport({ messages, fill: { tokens: 36_297, limitTokens: 200_000 }, left: [] });
  expect(report).toMatch(/The window holds 36,297 tokens/);
  expect(report).toMatch(/ 32k {2}tool outputs, 89%/);
  expect(report).toMatch(/4\.\dk {2}instructions and tool definitions, 11%/);
});

describe("how full the window is", () => {
  const models = [{ id: "m", providerID: "p", limit: { context: 200_000 } }];
  const answer = (input: number) => ({
    type: "assistant",
    model: { id: "m", providerID: "p" },
    tokens: { input, output: 10, reasoning: 0, cache: { read: 990, write: 0 } },
  });
  it.each([
    {
      name: "by the newest answer",
      messages: [answer(1), answer(9_000)],
      fill: { tokens: 10_000, limitTokens: 200_000 },
    },
    {
      name: "not by one before a compaction",
      messages: [answer(9_000), { type: "compaction" }],
      fill: undefined,
    },
    {
      name: "by one before a compaction that failed",
      messages: [answer(9_000), { type: "compaction", status: "failed" }],
      fill: { tokens: 10_000, limitTokens: 200_000 },
    },
    { name: "unknown before the first answer", messages: [{ type: "user" }], fill: undefined },
  ])("$name", ({ messages, fill }) => {
    expect(windowFill(messages, models)).toEqual(fill);
  });

  it("is said without a share where the limit is not known", () => {
    expect(windowFill([answer(9_000)], [])).toEqual({ tokens: 10_000 });
  });
});

it.each([
  { tokens: 0, running: 0, line: "" },
  { tokens: 41_234, running: 0, line: "41k saved" },
  { tokens: 41_234, running: 2, line: "41k saved · 2 forks" },
])("the status line is $line", ({ tokens, running, line }) => {
  const left = tokens === 0 ? [] : [{ why: "pruned", count: 1, tokens, isStored: true }];
  expect(statusLine({ left, running })).toBe(line);
});

it.each([
  [0, "0"],
  [999, "999"],
  [3_800, "3.8k"],
  [9_949, "9.9k"],
  [9_950, "10k"],
  [41_234, "41k"],
  [1_240_000, "1.2M"],
])("%d is %s in short", (count, short) => {
  expect(shortCount(count)).toBe(short);
});
