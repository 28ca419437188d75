import { describe, expect, it } from "vitest";
import { sessionOf } from "../../../test/rig/inspector/check-view.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Transcript } from "../../transcript/message.ts";
import { createInspection } from "./inspection.ts";
import { searchItems } from "./search-items.ts";

const messages: Transcript = deepFreeze([
  { id: "m1", role: "user", parts: [{ type: "text", text: "Why does Parse fail? parse(x) throws [a.b]" }] },
  {
    id: "m2",
    role: "assistant",
    parts: [
      { type: "reasoning", text: "Look at PARSE first." },
      {
        type: "tool",
        callId: "c",
        tool: "grep",
        input: { pattern: "parse" },
        outcome: { status: "done", output: "src/a.ts:1: nothing", attachments: [] },
        clearedAt: 5,
      },
    ],
  },
]);

describe("search", () => {
  it("finds a text in everything that was recorded, whatever its case", () => {
    expect(searchItems(messages, "parse")).toEqual([
      { index: 0, key: "m1/0/text" },
      { index: 1, key: "m2/0/text" },
      { index: 1, key: "m2/1/input" },
    ]);
  });

  it("looks into outputs that were cleared", () => {
    expect(searchItems(messages, "NOTHING")).toEqual([{ index: 1, key: "m2/1/output" }]);
  });

  it("finds calls by the name of their tool", () => {
    expect(searchItems(messages, "grep")).toEqual([{ index: 1, key: "m2/1/input" }]);
  });

  it("takes every character for itself", () => {
    expect(searchItems(messages, "[a.b]")).toHaveLength(1);
    expect(searchItems(messages, "[a-b]")).toEqual([]);
    for (const query of ["(", "\\", "a{", "^$.*+?()[]{}|/-", "\u{1f600}", "\ud83d"])
      expect(() => searchItems(messages, query)).not.toThrow();
  });

  it("finds nothing for nothing", () => {
    expect(createInspection(sessionOf(messages)).search(" ")).toEqual([]);
  });
});
