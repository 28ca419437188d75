import { describe, expect, it } from "vitest";
import { commonLength, compactionPart, isBareMarker, isSummary, type Message, typedText } from "./message.ts";
import type { Part } from "./part.ts";

const good: Message = { id: "m1", role: "user", parts: [] };

describe("what the user typed", () => {
  const text = (content: string, more: object = {}): Part => ({ type: "text", text: content, ...more });
  const marker: Part = { type: "compaction", trigger: "manual" };
  const hidden: Part = { type: "text", text: "hidden", agentVisible: false };

  it.each<{ readonly name: string; readonly message: Partial<Message>; readonly typed: string }>([
    { name: "texts, each on a line", message: { parts: [text("a"), text("b")] }, typed: "a\nb" },
    { name: "no blank text", message: { parts: [text(" "), text("b")] }, typed: "b" },
    { name: "nothing hidden", message: { parts: [hidden, text("b")] }, typed: "b" },
    { name: "nothing that a program added", message: { parts: [text("a", { synthetic: true })] }, typed: "" },
    { name: "nothing of our own", message: { parts: [text("a", { own: true })] }, typed: "" },
    { name: "nothing of the agent's", message: { role: "assistant", parts: [text("a")] }, typed: "" },
    { name: "no summary", message: { summary: true, parts: [text("a")] }, typed: "" },
    { name: "beside a marker", message: { parts: [marker, text("a")] }, typed: "a" },
    ...(["tool_result", "tool_result_archived", "tool_summary", "continue", "hint"] as const).map((kind) => ({
      name: `nothing of the kind ${kind}`,
      message: { parts: [text("a")], metadata: { kind } } as Partial<Message>,
      typed: "",
    })),
  ])("is $name", ({ message, typed }) => {
    expect(typedText({ ...good, ...message })).toBe(typed);
  });

  it("is nothing in a bare marker, which only asks for a compaction", () => {
    const bare: Message = { ...good, parts: [marker, hidden] };
    expect(isBareMarker(bare)).toBe(true);
    expect(compactionPart(bare)).toBe(marker);
    expect(isBareMarker({ ...bare, role: "assistant" })).toBe(false);
    expect(isBareMarker({ ...bare, parts: [hidden] })).toBe(false);
    expect(isBareMarker({ ...bare, parts: [marker, text("a")] })).toBe(false);
  });

  it("is no summary, by flag or by kind", () => {
    expect(isSummary(good)).toBe(false);
    expect(isSummary({ ...good, summary: true })).toBe(true);
    expect(isSummary({ ...good, metadata: { kind: "compaction_summary" } })).toBe(true);
    expect(isSummary({ ...good, metadata: { kind: "continue" } })).toBe(false);
  });
});

it.each([
  { one: [], other: [1], length: 0 },
  { one: [1, 2], other: [1, 2, 3], length: 2 },
  { one: [1, 2, 3], other: [1, 5, 3], length: 1 },
])("$one and $other begin alike with $length", ({ one, other, length }) => {
  expect(commonLength(one, other)).toBe(length);
});
