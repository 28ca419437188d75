import { assert, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { createRowDraft, type RowTable } from "./row-table.ts";
import { splitRows } from "./split-rows.ts";

function tableOf(text: string): RowTable {
  const rows = createRowDraft();
  splitRows(text, rows);
  return rows.table();
}

function rowsOf(text: string): readonly string[] {
  const { start, end } = tableOf(text);
  return Array.from(start, (from, row) => text.slice(from, end[row]));
}

describe("splitRows", () => {
  it.each([
    { name: "gives one row a line", text: "a\nb", rows: ["a", "b"] },
    { name: "leaves blank lines out", text: "\na\n\n \nb\n", rows: ["a", "b"] },
    { name: "drops the padding of line numbers", text: "   12→\tx\n    y", rows: ["12→\tx", "    y"] },
    { name: "drops what ends a line", text: "a  \r\nb", rows: ["a", "b"] },
    { name: "has nothing to give of nothing", text: " \n", rows: [] },
  ])("$name", ({ text, rows }) => {
    expect(rowsOf(text)).toEqual(rows);
  });

  it("counts the blank lines in front of a row", () => {
    expect([...tableOf("a\n\n\nb").blankLines]).toEqual([0, 2]);
  });

  it("splits a very long line into pieces that are its text", () => {
    const text = `${"word ".repeat(500)}end`;
    const { count, blankLines } = tableOf(text);
    expect(count).toBeGreaterThan(5);
    expect(rowsOf(text).join("")).toBe(text);
    expect(blankLines.subarray(1).every((lines) => lines === -1)).toBe(true);
  });

  it("leaves the middle of an enormous text in one row", () => {
    const text = "some words here\n".repeat(400_000);
    const { start, end } = tableOf(text);
    const lengths = Array.from(
      start.subarray(60_000, 65_000),
      (from, row) => (end[60_000 + row] ?? 0) - from,
    );
    expect(Math.max(...lengths)).toBeGreaterThan(1_000_000);
  });

  it("gives rows in order, without overlap, never blank", () => {
    assert(
      property(string({ unit: "binary", maxLength: 200 }), (text) => {
        const { start, end } = tableOf(text);
        const isBehind = (from: number, row: number): boolean => row === 0 || from >= (end[row - 1] ?? 0);
        expect(start.every(isBehind)).toBe(true);
        expect(start.every((from, row) => (end[row] ?? 0) > from)).toBe(true);
      }),
    );
  });
});
