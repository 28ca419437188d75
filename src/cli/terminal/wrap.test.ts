import { describe, expect, it } from "vitest";
import { wrapped } from "./wrap.ts";

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
