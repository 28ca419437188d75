import { describe, expect, it } from "vitest";
import type { Message } from "../../transcript/message.ts";
import { enclosingNames } from "./enclosing-names.ts";
import { fillRows } from "./fill-rows.ts";
import { numberWords } from "./number-words.ts";
import { readNewestFirst } from "./read-newest-first.ts";
import { wordUse } from "./word-use.ts";

function enclosingOf(said: string, output: string): readonly number[] {
  const read: Message["parts"][number] = {
    type: "tool",
    callId: "c1",
    tool: "read",
    input: { path: "a.go" },
    outcome: { status: "done", output, attachments: [] },
  };
  const fill = fillRows([
    { id: "m1", role: "assistant", parts: [read] },
    { id: "m2", role: "user", parts: [{ type: "text", text: said }] },
  ]);
  const numbered = numberWords(fill);
  const names = enclosingNames(fill, numbered, readNewestFirst(fill, numbered, wordUse(fill, numbered)));
  const shown = fill.segments.find(({ source }) => source === "read");
  return [...names.subarray(shown?.firstRow, shown?.endRow)];
}

const CODE = [
  "// foldWing folds it.",
  "func foldWing() {",
  "\tif wing {",
  "\t\tfold()",
  "\t}",
  "}",
  "func other() {",
  "\tfold()",
  "}",
].join("\n");

describe("enclosingNames", () => {
  it("raises a function that was named, with its body and the comment above it", () => {
    const half = 0.5;
    expect(enclosingOf("change foldWing", CODE)).toEqual([half, half, half, half, half, 0, 0, 0, 0]);
  });

  it("raises nothing when nothing of it was named", () => {
    expect(enclosingOf("change something", CODE).every((names) => names === 0)).toBe(true);
  });

  it("counts names that were written more often fully", () => {
    expect(enclosingOf("foldWing foldWing foldWing", CODE)[1]).toBe(1);
  });

  it("sees indentation behind line numbers", () => {
    const numbered = CODE.split("\n").map((line, index) => `${String(index + 1).padStart(5)}→${line}`);
    expect(enclosingOf("change foldWing", numbered.join("\n"))).toEqual(enclosingOf("change foldWing", CODE));
  });
});
