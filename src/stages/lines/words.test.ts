import { describe, expect, it } from "vitest";
import { talk, user } from "../../../test/rig/fill-talk.ts";
import { readRows } from "./rows.ts";
import { type InternedWords, internWords } from "./words.ts";

const numbered = (...texts: readonly string[]): InternedWords => internWords(readRows(talk(user(...texts))));

/** The words of each row, as numbers. */
function wordsIn(text: string): readonly (readonly number[])[] {
  const { words, firstWord } = numbered(text);
  return Array.from(firstWord.subarray(0, -1), (first, row) => [
    ...words.subarray(first, firstWord[row + 1]),
  ]);
}

/** How many different names there are. */
function namesIn(text: string): number {
  const { isIdentifier, wordCount } = numbered(text);
  return isIdentifier.subarray(0, wordCount).reduce((sum, is) => sum + is, 0);
}

describe("internWords", () => {
  it.each([
    { text: "fooBar", names: 1 },
    { text: "fooBa", names: 0 },
    { text: "snake_case", names: 1 },
    { text: "a_b_c", names: 0 },
    { text: "HTTPServer_", names: 0 },
    { text: "CONSTANT_NAME", names: 1 },
    { text: "a1b2c3d4e5", names: 1 },
    { text: "version7", names: 1 },
    { text: "vrsion7", names: 0 },
    { text: "7version", names: 0 },
    { text: "plain words only", names: 0 },
    { text: "Capital Letters", names: 0 },
    { text: "_private", names: 0 },
    { text: "__init__", names: 0 },
    { text: "aB", names: 0 },
    { text: "1234567890", names: 0 },
    { text: "85ae94cf4314b28ff3378103d2bc45bfaf0a1e47", names: 0 },
    { text: "85ae94cf4314b28ff3378103d2bc45bfaf0a1e4z", names: 1 },
    { text: "85ae94cf4314b28ff33", names: 1 },
    { text: "fooBar fooBar", names: 1 },
    { text: "fooBar _fooBar fooBar_", names: 3 },
  ])("finds $names names in $text", ({ text, names }) => {
    expect(namesIn(text)).toBe(names);
  });

  it.each([
    { text: "look in src/deep/file.ts please", names: 1 },
    { text: "src/deep/fooBar.ts", names: 2 },
    { text: "a/b.c", names: 1 },
    { text: "see a/b.c now", names: 1 },
    { text: "a/bc", names: 0 },
    { text: "see a/bc now", names: 0 },
    { text: "see a/bc", names: 0 },
    { text: "some/long/", names: 0 },
    { text: "see some/long/ now", names: 0 },
    { text: "lib/one.ts, lib/two.ts, lib/one.ts", names: 2 },
    { text: "lib/a.ts lib/a-ts lib/a+ts", names: 3 },
    { text: "@scope/name and scope/name", names: 2 },
    { text: "one/file.ts two/file.ts", names: 2 },
    { text: "word (lib/one.ts) lib/one.ts", names: 1 },
    { text: "file.ts word.md", names: 0 },
    { text: "objects/85/ae94cf4314b28ff3378103d2bc45bfaf0a1e47", names: 0 },
    { text: "in objects/85ae94cf4314b28ff3378103d2bc45bfaf0a1e47 too", names: 0 },
    { text: "ae94cf4314b28ff3378103d2bc45bfaf0a1e47/one.ts", names: 1 },
    { text: "lib/one.ts and more", names: 1 },
  ])("finds $names names in the paths of: $text", ({ text, names }) => {
    expect(namesIn(text)).toBe(names);
  });

  it("knows a path by its last two names", () => {
    const [[one] = [], [other] = [], [third] = []] = ["/x/y/ab/cd.c", "ab/cd.c", "y/cd.c"].map((path) =>
      wordsIn(`ab/cd.c y/cd.c\n${path}`).at(-1),
    );
    expect(one).toBe(other);
    expect(third).not.toBe(other);
  });

  it("takes for words what has three characters and a letter among them", () => {
    expect(wordsIn("ab abc 12 123 a12 (abc) x")).toEqual([[0, 1, 0]]);
    expect(wordsIn("é née été naïveté")).toEqual([[0]]);
    expect(wordsIn("   \n--\nword")).toEqual([[], [0]]);
  });

  it("numbers words in the order in which they are met, in all texts alike", () => {
    const { words, firstWord, wordCount } = numbered("one two\ntwo three", "three one four");
    expect([...firstWord]).toEqual([0, 2, 4, 7]);
    expect([...words.subarray(0, 7)]).toEqual([0, 1, 1, 2, 2, 0, 3]);
    expect(wordCount).toBe(4);
  });

  it("holds as many words and names as there are", () => {
    const count = 6_000;
    const text = Array.from({ length: count }, (_, index) => `word${index}x goNorth${index} also`).join("\n");
    const { words, firstWord, wordCount, isIdentifier } = numbered(text);
    expect(firstWord.at(-1)).toBe(3 * count);
    expect(wordCount).toBe(2 * count + 1);
    const wrong = Array.from({ length: count }, (_, row) => row).filter(
      (row) =>
        words[3 * row + 1] !== (row === 0 ? 1 : 2 * row + 2) ||
        words[3 * row + 2] !== 2 ||
        isIdentifier[words[3 * row + 1] ?? 0] !== 1,
    );
    expect(wrong).toEqual([]);
    expect(isIdentifier[2]).toBe(0);
  });

  it("gives a line the same number whatever its line number, its indentation and its end", () => {
    const { lineOf, lineCount } = numbered(
      "     7→\treturn foo\n  return foo\nreturn  foo\ngo();  \r\n  go();\nreturn foo",
      "go();",
    );
    expect([...lineOf]).toEqual([0, 0, 1, 2, 2, 0, 2]);
    expect(lineCount).toBe(3);
  });

  it("tells lines apart that differ in a sign or in short words", () => {
    const { lineCount } = numbered("a = b\na == b\nb = a\na = b;\nA = b\n1\n2\n12\né\nè");
    expect(lineCount).toBe(10);
  });

  it("counts the columns in front of a line, four for a tab", () => {
    const { indent } = numbered("x\n  x\n\tx\n\t  x\n  12→\t\tx\n7: x");
    expect([...indent]).toEqual([0, 2, 4, 6, 8, 1]);
  });

  it("sees nothing of the next line behind a line number alone", () => {
    const { indent, isComment } = numbered("7:\n# a");
    expect([...indent]).toEqual([0, 0]);
    expect([...isComment]).toEqual([0, 1]);
  });

  it("takes lines that begin like a comment or a decorator for remarks", () => {
    const { isComment } = numbered("// a\n# a\n * a\n@a\n  7→\t// a\na // b\n$ a\n7: ");
    expect([...isComment]).toEqual([1, 1, 1, 1, 1, 0, 0, 0]);
  });
});
