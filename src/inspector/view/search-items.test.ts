import { describe, expect, it } from "vitest";
import { sessionOf } from "../../../test/rig/inspector/check-view.ts";
import { deepFreeze } from "../../testing/notation.ts";
import type { Transcript } from "../../transcript/message.ts";
import { createInspection } from "./inspection.ts";
import { searchItems } from "./item-text.ts";

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
    expect(searchItems(messages, "parse").map(({ key, count }) => `${key} ${count}`)).toEqual([
      "m1/0/text 2",
      "m2/0/text 1",
      "m2/1/input 1",
    ]);
  });

  it("looks into outputs that were cleared", () => {
    expect(searchItems(messages, "NOTHING")).toMatchObject([{ index: 1, place: { side: "output" } }]);
  });

  it("finds calls by the name of their tool", () => {
    expect(searchItems(messages, "grep")).toMatchObject([{ key: "m2/1/input", count: 1 }]);
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

  it("shows some of the text around on one line", () => {
    const [match] = searchItems([{ id: "m", role: "user", parts: [{ type: "text", text: LONG }] }], "needle");
    expect(match?.excerpt).toMatch(/^….*a needle b.*…$/);
    expect(match?.excerpt.length).toBeLessThan(100);
  });
});

const LONG = `${"x".repeat(200)}\n\na  needle\nb ${"y".repeat(200)}`;
