import { describe, expect, it } from "vitest";
import { escapeCommands } from "./guard-stream.ts";

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
