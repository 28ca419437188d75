import { assert, constantFrom, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import { runs } from "../../../test/rig/runs.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { FilePart, ToolPart } from "../../transcript/part.ts";
import {
  createRowCollector,
  type FillSegment,
  type RowTable,
  readRows,
  splitRows,
  wholeChars,
} from "./rows.ts";

const PICTURE: FilePart = { type: "file", mime: "image/png" };
const pending: ToolPart = { ...call("bash", {}, ""), outcome: { status: "pending" } };
const hidden = (turn: Omit<Message, "id">): Omit<Message, "id"> => ({
  ...turn,
  metadata: { agentVisible: false },
});

/** Each text as `message/part source`, with its rows. */
function textsOf(transcript: Transcript): Readonly<Record<string, readonly string[]>> {
  const { parts, segments, rows } = readRows(transcript);
  return Object.fromEntries(
    parts.flatMap(({ message, partIndex, firstSegment, endSegment }) =>
      segments
        .slice(firstSegment, endSegment)
        .map(({ source, text, firstRow, endRow }) => [
          `${message.id}/${partIndex} ${source}`,
          Array.from({ length: endRow - firstRow }, (_, index) =>
            text.slice(rows.start[firstRow + index], rows.end[firstRow + index]),
          ),
        ]),
    ),
  );
}

describe("readRows", () => {
  it("reads texts, files and calls, oldest first", () => {
    const transcript = talk(
      user("do\n\nit", PICTURE),
      { role: "system", parts: [{ type: "text", text: "be kind" }] },
      agent("I do", call("bash", { command: "ls\nps" }, "a\nb")),
    );
    expect(textsOf(transcript)).toEqual({
      "m1/0 user": ["do", "it"],
      "m1/1 user": ["[File: image/png]"],
      "m2/0 user": ["be kind"],
      "m3/0 agent": ["I do"],
      "m3/1 call": ['[Tool: bash] {"command":""}'],
      "m3/1 input": ["ls", "ps"],
      "m3/1 output": ["a", "b"],
    });
  });

  it("reads nothing that is hidden, blank, for the user alone, our own, or no text", () => {
    const transcript = talk(
      hidden(user("hidden")),
      user(
        { type: "text", text: "hidden", agentVisible: false },
        { type: "text", text: "for you", ignored: true },
        { type: "text", text: "ours", own: true },
        { type: "text", text: " \n " },
        { type: "reasoning", text: "hm" },
        "said",
      ),
      agent({ ...call("bash", {}, "x"), agentVisible: false }),
    );
    expect(textsOf(transcript)).toEqual({ "m2/5 user": ["said"] });
    expect(readRows(transcript).messages.map(({ id }) => id)).toEqual(["m2", "m3"]);
    expect(readRows(transcript).parts).toHaveLength(1);
  });

  it("holds the head of a call in one row, however long it is", () => {
    const input = { items: Array.from({ length: 60 }, (_, index) => `item ${index}`) };
    const { segments } = readRows(talk(agent(call("bash", input, "x\ny"))));
    expect(segments.map(({ source, firstRow, endRow }) => [source, firstRow, endRow])).toEqual([
      ["call", 0, 1],
      ["output", 1, 3],
    ]);
  });

  it("counts the results that are newer than a part, whoever's it is", () => {
    const failed: ToolPart = { ...call("bash", {}, ""), outcome: { status: "failed", error: "no" } };
    const transcript = talk(
      user("go"),
      agent("first", call("bash", {}, "a"), call("bash", {}, "b")),
      hidden(agent(call("bash", {}, "not seen"))),
      agent({ ...call("bash", {}, "not seen"), agentVisible: false }, pending, failed),
      user("end"),
    );
    const { parts } = readRows(transcript);
    expect(
      parts.map(({ message, partIndex, callsSince }) => `${message.id}/${partIndex}:${callsSince}`),
    ).toEqual(["m1/0:3", "m2/0:3", "m2/1:2", "m2/2:1", "m4/1:1", "m4/2:0", "m5/0:0"]);
  });

  it("says of each part what it takes and which message it belongs to", () => {
    const transcript = talk(
      hidden(user("hidden")),
      user("do it", PICTURE),
      agent(call("read", { path: "a.ts" }, "x")),
    );
    const { parts } = readRows(transcript);
    const [said, file, read] = parts;
    expect(said).toMatchObject({ messageNumber: 0, chars: "do it".length, headChars: 0, path: undefined });
    expect(file).toMatchObject({ messageNumber: 0, chars: 0, headChars: 0, call: undefined });
    expect(read).toMatchObject({ messageNumber: 1, path: "a.ts", chars: '{"path":"a.ts"}x'.length });
    expect(read?.headChars).toBe('[Tool: read] {"path":"a.ts"}\n[Tool result]\n'.length);
    expect(parts.map(({ firstSegment, endSegment }) => [firstSegment, endSegment])).toEqual([
      [0, 1],
      [1, 2],
      [2, 4],
    ]);
  });

  it("holds as many rows as there are lines", () => {
    const line = (index: number): string => `line ${index}`;
    const text = Array.from({ length: 5_000 }, (_, index) => line(index)).join("\n\n");
    const { rows, segments } = readRows(talk(user(text)));
    expect(rows.count).toBe(5_000);
    expect(segments[0]?.endRow).toBe(5_000);
    for (const row of [0, 1_023, 1_024, 2_048, 4_999]) {
      expect(text.slice(rows.start[row], rows.end[row])).toBe(line(row));
      expect(rows.bodyStart[row]).toBe(rows.start[row]);
      expect(rows.blankLines[row]).toBe(row === 0 ? 0 : 1);
      expect(rows.chars[row]).toBe(line(row).length + (row === 0 ? 1 : 2));
    }
  });
});

function tableOf(text: string): RowTable {
  const rows = createRowCollector();
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
    expect(blankLines.slice(1).every((lines) => lines === -1)).toBe(true);
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

function charsOf(tool: string, output: string): number {
  const { rows, segments } = readRows(talk(agent(call(tool, { path: "a" }, output), call(tool, {}, "more"))));
  return wholeChars(rows, segments[1] as FillSegment);
}

const padded = "     1→\tone\n     2→\ttwo\n\n     3→\tthree";

describe("wholeChars", () => {
  it("counts a file that was read without the padding of line numbers", () => {
    expect(charsOf("read", padded)).toBe("1→\tone\n2→\ttwo\n\n3→\tthree\n".length);
  });

  it("counts any other text as it is", () => {
    expect(charsOf("bash", padded)).toBe(padded.length + 1);
    expect(charsOf("read", "one\ntwo")).toBe("one\ntwo\n".length);
  });

  it("leaves padding in place where dropping it saves too little", () => {
    const rest = "x".repeat(300);
    expect(charsOf("read", `  1→${rest}`)).toBe(`  1→${rest}\n`.length);
    const share = `    1→${"x".repeat(94)}`;
    expect(charsOf("read", share)).toBe(share.length + 1);
    expect(charsOf("read", `${" ".repeat(12)}1→${rest}`)).toBe(`1→${rest}\n`.length);
  });
});
