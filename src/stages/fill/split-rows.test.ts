import { assert, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { type FillRow, splitRows } from "./split-rows.ts";

function rowsOf(text: string): readonly string[] {
  const rows: FillRow[] = [];
  splitRows(text, rows);
  return rows.map(({ start, end }) => text.slice(start, end));
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
    const rows: FillRow[] = [];
    splitRows("a\n\n\nb", rows);
    expect(rows.map(({ blankLines }) => blankLines)).toEqual([0, 2]);
  });

  it("splits a very long line into pieces that are its text", () => {
    const text = `${"word ".repeat(500)}end`;
    const rows: FillRow[] = [];
    splitRows(text, rows);
    expect(rows.length).toBeGreaterThan(5);
    expect(rowsOf(text).join("")).toBe(text);
    expect(rows.slice(1).every(({ blankLines }) => blankLines === -1)).toBe(true);
  });

  it("leaves the middle of an enormous text in one row", () => {
    const text = "some words here\n".repeat(400_000);
    const rows: FillRow[] = [];
    splitRows(text, rows);
    expect(Math.max(...rows.slice(60_000, 65_000).map(({ start, end }) => end - start))).toBeGreaterThan(
      1_000_000,
    );
  });

  it("gives rows in order, without overlap, never blank", () => {
    assert(
      property(string({ unit: "binary", maxLength: 200 }), (text) => {
        const rows: FillRow[] = [];
        splitRows(text, rows);
        let end = 0;
        for (const row of rows) {
          expect(row.start).toBeGreaterThanOrEqual(end);
          expect(row.end).toBeGreaterThan(row.start);
          end = row.end;
        }
      }),
    );
  });
});
