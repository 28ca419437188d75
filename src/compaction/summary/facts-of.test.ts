import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Transcript } from "../../transcript/message.ts";
import { factsOf } from "./facts.ts";
import { pinsOf } from "./pins.ts";

const BUDGET = { wordsChars: 4_000, filesChars: 2_000 };
const KEY = `sk-ant-api03-${"aB3xY9".repeat(16)}-AA`;

const CONVERSATION: Transcript = deepFreeze([
  { id: "u1", role: "user", parts: [{ type: "text", text: `Make the parser faster. The key is ${KEY}` }] },
  {
    id: "a1",
    role: "assistant",
    parts: [
      {
        type: "tool",
        callId: "c1",
        tool: "read",
        input: { filePath: "src/parser.ts" },
        outcome: { status: "done", output: "export function parse() {}", attachments: [] },
      },
      {
        type: "tool",
        callId: "c2",
        tool: "bash",
        input: { command: "npm test" },
        outcome: { status: "failed", error: `TypeError: cannot read length of undefined\nkey ${KEY}` },
      },
    ],
  },
]);

describe("factsOf", () => {
  it("holds the user's words, the files and the pins, nothing that a tool printed, and no secret", () => {
    const facts = factsOf(CONVERSATION, { pins: [{ text: "Never push." }], budget: BUDGET });
    expect(facts).toContain("Make the parser faster.");
    expect(facts).toContain("src/parser.ts");
    expect(facts).not.toContain("TypeError");
    expect(facts).toContain("Never push.");
    expect(facts).not.toContain(KEY);
  });

  it("says the same of the same, and something of nothing without failing", () => {
    const once = factsOf(CONVERSATION, { pins: [], budget: BUDGET });
    expect(factsOf(CONVERSATION, { pins: [], budget: BUDGET })).toBe(once);
    expect(typeof factsOf([], { pins: [], budget: BUDGET })).toBe("string");
  });
});

describe("pinsOf", () => {
  it("holds pinned texts and messages, and is empty when nothing is pinned", () => {
    const text = pinsOf(CONVERSATION, { pins: [{ text: "Never push." }, { handle: "u1" }] });
    expect(text).toContain("Never push.");
    expect(text).toContain("Make the parser faster.");
    expect(pinsOf(CONVERSATION, { pins: [] })).toBe("");
  });
});
