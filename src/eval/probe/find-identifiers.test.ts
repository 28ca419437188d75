import { describe, expect, it } from "vitest";
import { editLines } from "./edit-lines.ts";
import { findIdentifiers } from "./identifiers.ts";

describe("findIdentifiers", () => {
  it.each([
    { name: "paths", text: "cat src/eval/chart.ts", found: [["src/eval/chart.ts", "path"]] },
    {
      name: "paths relative to the working directory",
      text: "/home/me/app/src/a.go",
      found: [["src/a.go", "path"]],
    },
    { name: "no working directory", text: "cd /home/me/app && ls", found: [] },
    { name: "file names with an extension", text: "see README.md.", found: [["README.md", "path"]] },
    { name: "no prose with a slash", text: "and/or read/write", found: [] },
    { name: "no system paths", text: "> /dev/null 2>&1 ; ls /usr/bin/env", found: [] },
    {
      name: "symbols that have a structure",
      text: "parseLine snake_case plainword ID3Tag12",
      found: [
        ["parseLine", "symbol"],
        ["snake_case", "symbol"],
        ["ID3Tag12", "symbol"],
      ],
    },
    { name: "no members of standard libraries", text: "strings.HasPrefix(x) JSON.stringify", found: [] },
    { name: "no words of tool schemas", text: "old_string filePath", found: [] },
    {
      name: "hashes, tickets and URLs",
      text: "fix 3f2a9bc for ABC-123, see https://example.com/issues/7.",
      found: [
        ["https://example.com/issues/7", "literal"],
        ["3f2a9bc", "literal"],
        ["ABC-123", "literal"],
      ],
    },
    { name: "nothing that was blanked out", text: "key_REDACTED_1", found: [] },
    { name: "lines inside JSON", text: String.raw`"a\nfooBar"`, found: [["fooBar", "symbol"]] },
  ])("finds $name", ({ text, found }) => {
    expect([...findIdentifiers(text, "/home/me/app")]).toEqual(found);
  });

  it("takes a run of a million characters in its stride", () => {
    expect(findIdentifiers("a.b-".repeat(250_000)).size).toBe(0);
    expect(findIdentifiers(`x/${"a".repeat(1_000_000)}`).size).toBe(0);
  });
});

describe("editLines", () => {
  const line = "const answer = compute(question);";
  it.each([
    { name: "the replaced text of an edit", input: { old_string: `  ${line}\n}`, new_string: "" } },
    { name: "the replaced text of several edits", input: { edits: [{ oldText: line }, { oldText: "x" }] } },
    {
      name: "the context of a patch",
      input: { patchText: `*** Update File: a\n-${line}\n+other line of code` },
    },
  ])("are the long lines of $name", ({ input }) => {
    expect([...editLines(input)]).toEqual([line]);
  });

  it("are none for anything else, and for input that holds itself", () => {
    const cycle: Record<string, unknown> = { command: line };
    cycle.self = cycle;
    for (const input of [undefined, null, "text", 3, cycle]) expect(editLines(input).size).toBe(0);
  });
});
