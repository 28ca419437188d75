import { assert, constantFrom, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { createRowDraft, type RowTable, splitRows } from "./rows.ts";

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
    {
      name: "knows four signs behind a line number",
      text: "  1→a\n  2\tb\n  3|c\n  4:d",
      rows: ["1→a", "2\tb", "3|c", "4:d"],
    },
    {
      name: "leaves other numbers as they are",
      text: "  1;a\n  2 b\n  3\n  (4): d",
      rows: ["  1;a", "  2 b", "  3", "  (4): d"],
    },
    { name: "takes a number alone for no line number", text: "  12\t\n  13", rows: ["  12", "  13"] },
    { name: "takes a sign alone for no line number", text: "  : a\n  | b", rows: ["  : a", "  | b"] },
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

  it.each([
    { name: "leaves a line of 400 characters whole", line: "x".repeat(400), lengths: [400] },
    { name: "cuts a longer one", line: "x".repeat(401), lengths: [400, 1] },
    { name: "cuts again as often as needed", line: "x".repeat(1_000), lengths: [400, 400, 200] },
    { name: "cuts behind a space", line: `${"x".repeat(350)} ${"y".repeat(99)}`, lengths: [351, 99] },
    { name: "cuts behind the last space", line: `${"x ".repeat(190)}${"y".repeat(90)}`, lengths: [380, 90] },
    { name: "looks back 80 characters", line: `${"x".repeat(320)} ${"y".repeat(99)}`, lengths: [321, 99] },
    { name: "looks back no further", line: `${"x".repeat(319)} ${"y".repeat(99)}`, lengths: [400, 19] },
    { name: "cuts between characters", line: `${"x".repeat(399)}\u{1f600}y`, lengths: [399, 3] },
  ])("$name", ({ line, lengths }) => {
    const rows = rowsOf(`before\n${line}\nbehind`);
    expect(rows.slice(1, -1).map((row) => row.length)).toEqual(lengths);
    expect(rows.slice(1, -1).join("")).toBe(line);
  });

  it("says where a row begins behind its line number", () => {
    const text = `  12→\tword\nword\n  13: ${"word ".repeat(100)}\n${"9".repeat(500)}: word`;
    const { start, bodyStart, end } = tableOf(text);
    expect(text.slice(bodyStart[0], end[0])).toBe("\tword");
    expect(bodyStart[1]).toBe(start[1]);
    expect(text.slice(start[2], bodyStart[2])).toBe("13:");
    expect(bodyStart[3]).toBe(start[3]);
    expect(bodyStart.every((body, row) => body >= (start[row] ?? 0) && body <= (end[row] ?? 0))).toBe(true);
  });

  const line = "word ".repeat(79).trimEnd().padEnd(399, ".");

  it("looks at each line of a text of two million characters", () => {
    const text = `${line}\n`.repeat(5_000);
    const { count, start, end } = tableOf(text);
    expect(text.length).toBe(2_000_000);
    expect(count).toBe(5_000);
    expect(start.every((from, row) => (end[row] ?? 0) - from === line.length)).toBe(true);
  });

  it("leaves the middle of a longer one in one row", () => {
    const text = `${line}.\n`.repeat(8_000);
    const { count, start, bodyStart, end } = tableOf(text);
    const lengths = Array.from(start, (from, row) => (end[row] ?? 0) - from);
    const middle = lengths.indexOf(text.length - 2_000_000);
    expect(middle).toBeGreaterThan(count / 3);
    expect(middle).toBeLessThan((2 * count) / 3);
    expect(start[middle]).toBe(1_000_000);
    expect(end[middle - 1]).toBeLessThanOrEqual(1_000_000);
    expect(start[middle + 1]).toBe(text.length - 1_000_000);
    expect(bodyStart[middle]).toBe(end[middle]);
    expect(lengths.every((chars, row) => row === middle || chars <= 400)).toBe(true);
  });

  const anySign = constantFrom("a", "7", " ", "\n", "\t", "\r", "→", ":", "é", "\u{1f600}", "\ud83d", "\0");

  it("gives rows in order, without overlap, never blank", () => {
    assert(
      property(string({ unit: anySign, maxLength: 900 }), (text) => {
        const { start, end } = tableOf(text);
        const isBehind = (from: number, row: number): boolean => row === 0 || from >= (end[row - 1] ?? 0);
        expect(start.every(isBehind)).toBe(true);
        expect(start.every((from, row) => (end[row] ?? 0) > from)).toBe(true);
      }),
      { numRuns: runs(100) },
    );
  });
});
