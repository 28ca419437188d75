import { describe, expect, it } from "vitest";
import { escapeCommands, formatPercent, terminalPath, terminalText } from "./output.ts";

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
