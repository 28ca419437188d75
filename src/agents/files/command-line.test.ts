import { describe, expect, it } from "vitest";
import { carriedWords, optionsWith, type ProgramOptions, readCommandLine } from "./command-line.ts";

const CARRIED = {
  ...optionsWith("nothing", "--bare"),
  ...optionsWith("one", "--settings -c"),
  ...optionsWith("many", "--tools"),
};

const PROGRAM: ProgramOptions = {
  carried: new Set(Object.keys(CARRIED)),
  unlisted: "may take any",
  values: {
    ...CARRIED,
    ...optionsWith("nothing", "--print -p"),
    ...optionsWith("maybe", "--resume -r"),
    ...optionsWith("one", "--name -n"),
  },
};

const carried = (words: readonly string[], program = PROGRAM) =>
  carriedWords({ words, isExact: true }, program)?.join(" ");

describe("the words that a child is started with too", () => {
  it.each([
    { name: "an option with its value", words: ["--settings", "{}", "Say it"], expected: "--settings {}" },
    { name: "a value in the same word", words: ["--settings={}", "Say it"], expected: "--settings={}" },
    {
      name: "all values of one that takes many",
      words: ["--tools", "a", "b", "-p", "c"],
      expected: "--tools a b",
    },
    { name: "one value of it in the same word", words: ["--tools=a", "b"], expected: "--tools=a" },
    { name: "a dash alone as a value", words: ["--tools", "a", "-", "b"], expected: "--tools a - b" },
    {
      name: "a short one with its value",
      words: ["-ckey=value", "-c=other", "-c", "third"],
      expected: "-ckey=value -c=other -c third",
    },
    { name: "an option behind the prompt", words: ["-p", "Say it", "--bare"], expected: "--bare" },
    {
      name: "a value that reads like an option",
      words: ["--settings", "--bare"],
      expected: "--settings --bare",
    },
    {
      name: "a value that is two dashes, and what follows it",
      words: ["--settings", "--", "--bare"],
      expected: "--settings -- --bare",
    },
  ])("are $name", ({ words, expected }) => {
    expect(carried(words)).toBe(expected);
  });

  it.each([
    { name: "behind two dashes", words: ["-p", "--", "--settings={}", "--bare"] },
    { name: "the prompt behind values that end at two dashes", words: ["-p", "--", "--tools", "Bash"] },
    { name: "the value of another option", words: ["--name", "--bare"] },
    { name: "the value of another option in its word", words: ["--name=--bare", "-n--bare"] },
    { name: "the value of the last of several short options", words: ["-pn", "--settings={}"] },
    { name: "inside a prompt", words: ["-p", "please --bare --settings={}"] },
    { name: "a name that every object has", words: ["--constructor", "x", "--toString=y"] },
  ])("are none that stand $name", ({ words }) => {
    expect(carried(words)).toBe("");
  });

  it("end with the values of an option that takes many, at the next option or at two dashes", () => {
    expect(carried(["--tools", "a", "--", "b", "--bare"])).toBe("--tools a");
    // The program takes the first value whatever it is.
    expect(carried(["--tools", "--bare", "b", "--settings", "{}"])).toBe("--tools --bare b --settings {}");
  });

  it("are options behind one that may have a value", () => {
    expect(carried(["--resume", "--bare"])).toBe("--bare");
    expect(carried(["-r", "some", "--bare"])).toBe("--bare");
    expect(carried(["-rsome", "--bare"])).toBe("--bare");
  });

  it("are not told where an option that is not listed may have taken the next", () => {
    expect(carried(["--newer", "--bare"])).toBeUndefined();
    expect(carried(["--newer", "--", "--bare"])).toBeUndefined();
    expect(carried(["--newer", "x", "--bare"])).toBe("--bare");
    expect(carried(["--newer=x", "--bare"])).toBe("--bare");
    expect(carried(["--newer", "--bare"], { ...PROGRAM, unlisted: "takes no dash" })).toBe("--bare");
  });

  it("are not told where words are cut at every blank, also behind two dashes, which may be a prompt's", () => {
    const cut = (...words: readonly string[]) => carriedWords({ words, isExact: false }, PROGRAM);
    expect(cut("a", "--", "b", "--settings", "{}")).toBeUndefined();
    expect(cut("a", "--", "b")).toEqual([]);
    expect(carriedWords(undefined, PROGRAM)).toBeUndefined();
  });
});

it("tells commands and prompts from values, up to two dashes", () => {
  expect(readCommandLine(["-n", "exec", "-r", "id", "run", "it", "--", "exec"], PROGRAM)?.operands).toEqual([
    "run",
    "it",
  ]);
});
