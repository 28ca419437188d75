import { describe, expect, it } from "vitest";
import type { Message } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { readRows } from "./rows.ts";
import { readRowFacts } from "./score.ts";
import { internWords } from "./words.ts";

function call(tool: string, input: unknown, output: string): ToolPart {
  const outcome = { status: "done", output, attachments: [] } as const;
  return { type: "tool", callId: `${tool}-${output.length}`, tool, input, outcome };
}

/** The lines that count as shown again, each with where it stands. */
function repeatedIn(...parts: readonly ToolPart[]): readonly string[] {
  const messages = parts.map(
    (part, index): Message => ({ id: `m${index}`, role: "assistant", parts: [part] }),
  );
  const fill = readRows(messages);
  const numbered = internWords(fill);
  const { isRepeated } = readRowFacts(fill, numbered);
  return fill.segments.flatMap(({ source, text, firstRow, endRow }) =>
    Array.from({ length: endRow - firstRow }, (_, index) => firstRow + index)
      .filter((row) => isRepeated[row] === 1)
      .map((row) => `${source}: ${text.slice(fill.rows.bodyStart[row], fill.rows.end[row]).trim()}`),
  );
}

describe("readRowFacts", () => {
  it("takes the older of two equal lines as shown again", () => {
    expect(repeatedIn(call("read", { path: "a" }, "first line"), call("bash", {}, "first line"))).toEqual([
      "read: first line",
    ]);
  });

  it("takes the echo of an edit as shown again, not the edit", () => {
    const input = { file_path: "a", old_string: "one\ntwo", new_string: "one\nthree" };
    expect(repeatedIn(call("edit", input, "     7→one\n     8→three\n     9→four"))).toEqual([
      "removed: one",
      "output: one",
      "output: three",
    ]);
  });

  it("takes what shows again what an edit took out as shown again", () => {
    const input = { file_path: "a", old_string: "gone\ntwo", new_string: "three\nfour" };
    expect(repeatedIn(call("edit", input, "- gone\ngone"))).toEqual(["output: gone"]);
  });
});
