import { describe, expect, it } from "vitest";
import { fillRows } from "./fill-rows.ts";
import { numberWords } from "./number-words.ts";

function identifiersIn(text: string): number {
  const { words, firstWord, isIdentifier } = numberWords(
    fillRows([{ id: "m1", role: "user", parts: [{ type: "text", text }] }]),
  );
  return [...words.subarray(0, firstWord.at(-1))].filter((word) => isIdentifier[word] === 1).length;
}

describe("numberWords", () => {
  it.each([
    { text: "fooBar", identifiers: 1 },
    { text: "snake_case", identifiers: 1 },
    { text: "a1b2c3d4e5", identifiers: 1 },
    { text: "plain words only", identifiers: 0 },
    { text: "Capital Letters", identifiers: 0 },
    { text: "_private", identifiers: 0 },
    { text: "aB", identifiers: 0 },
    { text: "look in src/deep/file.ts please", identifiers: 1 },
    { text: "src/deep/fooBar.ts", identifiers: 2 },
    { text: "1234567890", identifiers: 0 },
  ])("finds $identifiers names in $text", ({ text, identifiers }) => {
    expect(identifiersIn(text)).toBe(identifiers);
  });

  it("gives a line the same number whatever its line number and indentation", () => {
    const text = "     7→\treturn foo\n  return foo\nreturn  foo";
    const { lineOf } = numberWords(fillRows([{ id: "m1", role: "user", parts: [{ type: "text", text }] }]));
    expect(lineOf[0]).toBe(lineOf[1]);
    expect(lineOf[2]).not.toBe(lineOf[1]);
  });
});
