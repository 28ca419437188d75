import { describe, expect, it } from "vitest";
import { formatPercent, terminalPath, terminalText } from "./output.ts";

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
