import { describe, expect, it } from "vitest";
import {
  cutToWidth,
  displayWidth,
  escapeCommands,
  formatPercent,
  renderTable,
  terminalPath,
  terminalText,
  wrapped,
} from "./output.ts";

describe("terminalText", () => {
  it.each([
    { text: "two\nlines\tof  text", maxChars: 40, shown: "two lines of text" },
    { text: "\x1b[31mred\x1b[0m \x07bell", maxChars: 40, shown: "red bell" },
    { text: "a".repeat(50), maxChars: 10, shown: `${"a".repeat(9)}…` },
    { text: `${"a".repeat(8)}😀😀`, maxChars: 10, shown: `${"a".repeat(8)}…` },
  ])("gives $shown", ({ text, maxChars, shown }) => {
    expect(terminalText(text, maxChars)).toBe(shown);
    expect(terminalText(text, maxChars).isWellFormed()).toBe(true);
  });

  it("keeps the end of a path", () => {
    expect(terminalPath("/a/very/long/way/to/file.ts", 12)).toBe("…/to/file.ts");
  });

  it.each([
    [0, 10, "0 %"],
    [1, 1000, "<1 %"],
    [333, 1000, "33 %"],
    [5, 0, "0 %"],
  ])("says what %i of %i is", (part, whole, shown) => expect(formatPercent(part, whole)).toBe(shown));
});

describe("escapeCommands", () => {
  it.each([
    ["\x1b[31mred\x1b[39m", "\x1b[31mred\x1b[39m"],
    ["said\r\x1b[Kunsaid", "said\\u000d\\u001b[Kunsaid"],
    ["\x1b]0;title\x07", "\\u001b]0;title\\u0007"],
    ["\x1b[2J\x1b[8m", "\\u001b[2J\\u001b[8m"],
    ["two\r\nlines\tand \u202etxt.exe", "two\r\nlines\tand \\u202etxt.exe"],
  ])("on a terminal, %j is written as %j", (text, shown) => expect(escapeCommands(text, true)).toBe(shown));

  it("lets no style through where nobody sees it", () =>
    expect(escapeCommands("\x1b[31mred", false)).toBe("\\u001b[31mred"));
});

describe("wrapped", () => {
  const narrow = { isTTY: true, columns: 24 };

  it("breaks sentences between words, and leaves rows and commands whole", () => {
    const path = "/a/path/that/is/longer/than/a/line";
    const command = "  claude --resume 0240bd7a-1111-4222";
    expect(wrapped(`error: There is no file ${path} here.\n${command}`, narrow)).toBe(
      `error: There is no file\n${path}\nhere.\n${command}`,
    );
    expect(wrapped("\x1b[31merror\x1b[39m: one two three four", narrow)).toBe(
      "\x1b[31merror\x1b[39m: one two three\nfour",
    );
  });

  it("goes on below the beginning of a column", () =>
    expect(wrapped("  huge  one two three four five", { isTTY: true, columns: 28 }, 8)).toBe(
      "  huge  one two three four\n        five",
    ));

  it("changes nothing for a file or a pipe", () => {
    const text = "one two three four five six seven";
    expect(wrapped(text, { columns: 24 })).toBe(text);
  });
});

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
