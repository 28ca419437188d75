import { describe, expect, it } from "vitest";
import { cutToWidth, displayWidth, renderTable } from "./table.ts";

describe("a table", () => {
  it("is aligned by what a terminal shows, also beside wide letters, pictures and marks", () => {
    const rows = [
      ["設定.ts", "12 %", "end"],
      ["e\u0301.ts", "3 %", "end"],
      ["🎉.ts", "100 %", "end"],
      ["plain.ts", "<1 %", "end"],
    ];
    const lines = renderTable(rows, {}).split("\n");
    const places = lines.map((line) => displayWidth(line.slice(0, line.indexOf("end"))));
    expect(new Set(places)).toEqual(new Set([2 + 8 + 2 + 5 + 2]));
  });

  it("fits into a terminal that is narrower, by cutting its longest texts and no number", () => {
    const rows = [
      ["src/a/very/long/way/to/a/file.ts", "1,234 chars", "a sentence that goes on for a long while"],
      ["b.ts", "5 chars", "short"],
    ];
    const lines = renderTable(rows, { isTTY: true, columns: 50 }).split("\n");
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(50);
    expect(lines[0]).toContain("1,234 chars");
    expect(renderTable(rows, {})).toContain("for a long while");
  });

  it.each([
    ["plain", 5, "plain"],
    ["plainly", 5, "plai…"],
    ["設定を読む", 6, "設定…"],
    ["設定を読む", 5, "設定…"],
  ])("cuts %s to %i columns", (text, columns, shown) => {
    expect(cutToWidth(text, columns)).toBe(shown);
    expect(displayWidth(shown)).toBeLessThanOrEqual(columns);
  });
});
