import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import type { Transcript } from "../../transcript/message.ts";
import { readRows } from "./rows.ts";
import { readRowFacts, scoreEnclosingNames } from "./score.ts";
import { internWords } from "./words.ts";

function enclosingOf(said: string, output: string): readonly number[] {
  return namesIn(talk(agent(call("read", { path: "a.go" }, output)), user(said)), "a.go");
}

/** Of all rows, or of those from the call about a file on. */
function namesIn(transcript: Transcript, path?: string): readonly number[] {
  const fill = readRows(transcript);
  const numbered = internWords(fill);
  const names = scoreEnclosingNames(fill, numbered, readRowFacts(fill, numbered));
  if (path === undefined) return [...names];
  const shown = fill.segments.find(
    ({ source, partNumber }) => source === "read" && fill.parts[partNumber]?.path === path,
  );
  return [...names.subarray(shown?.firstRow, shown?.endRow)];
}

const CODE = [
  "// foldWing folds it.",
  "func foldWing() {",
  "\tif wing {",
  "\t\tfold()",
  "\t}",
  "}",
  "func other() {",
  "\tfold()",
  "}",
].join("\n");

describe("scoreEnclosingNames", () => {
  it("raises a function that was named, with its body and the comment above it", () => {
    const half = 0.5;
    expect(enclosingOf("change foldWing", CODE)).toEqual([half, half, half, half, half, 0, 0, 0, 0]);
  });

  it("raises nothing when nothing of it was named", () => {
    expect(enclosingOf("change something", CODE).every((names) => names === 0)).toBe(true);
  });

  it("counts names that were written more often fully", () => {
    expect(enclosingOf("foldWing foldWing foldWing", CODE)[1]).toBe(1);
  });

  it("sees indentation behind line numbers", () => {
    const numbered = CODE.split("\n").map((line, index) => `${String(index + 1).padStart(5)}→${line}`);
    expect(enclosingOf("change foldWing", numbered.join("\n"))).toEqual(enclosingOf("change foldWing", CODE));
  });

  const half = 0.5;
  const named = (...lines: readonly string[]): readonly number[] =>
    enclosingOf("change foldWing", lines.join("\n"));

  it.each([
    {
      name: "all lines of a comment above",
      lines: ["# one", "# two", "@cached", "def foldWing():"],
      above: 3,
    },
    { name: "no comment with another indentation", lines: ["  # one", "def foldWing():"], above: 0 },
    {
      name: "no comment that another comment stands between",
      lines: ["# one", "  # two", "def foldWing():"],
      above: 0,
    },
    {
      name: "no comment that belongs to the line before it",
      lines: ["one", "# two", "  def foldWing():"],
      above: 0,
    },
    { name: "no line above that is no comment", lines: ["one", "def foldWing():"], above: 0 },
  ])("raises with a function $name", ({ lines, above }) => {
    const rows = lines.map((_, index) => (index >= lines.length - 1 - above ? half : 0));
    expect(named(...lines)).toEqual(rows);
  });

  it("takes what a comment names for no name of its own", () => {
    expect(named("# foldWing is old", "def other():", "  pass")).toEqual([0, 0, 0]);
  });

  it("takes a comment inside a function for a part of it, and nothing for a part of a comment", () => {
    expect(
      named("def foldWing():", "  # why", "    deep = 1", "  last = 2", "# foldWing", "  under = 3"),
    ).toEqual([...[half, half, half, half], ...[0, 0]]);
  });

  it("goes back to what encloses a line when a deeper one ends", () => {
    expect(named("class foldWing:", "  def a():", "    one", "  two", "else:", "  three")).toEqual([
      ...[half, half, half, half],
      ...[0, 0],
    ]);
    expect(named("class Any:", "  def foldWing():", "    one", "  two", "    three")).toEqual([
      0,
      half,
      half,
      0,
      0,
    ]);
  });

  it("begins anew with each text", () => {
    const first = call("read", { path: "a" }, "def foldWing():");
    const second = call("read", { path: "b" }, "  # remark\n  one");
    expect(namesIn(talk(agent(first, second), user("change foldWing")), "b")).toEqual([0, 0]);
  });

  it("knows nothing of indentation in what was said, and in the head of a call", () => {
    const said = "the foldWing:\n  goes up";
    for (const talked of [talk(user(said), user("foldWing")), talk(agent(said), user("foldWing"))])
      expect(namesIn(talked)).toEqual([0, 0, 0]);
    expect(namesIn(talk(agent(call("bash", { command: "foldWing" }, "")), user("foldWing")))).toEqual([0, 0]);
  });

  it("sees what is written into a file as it sees a file that was read", () => {
    const input = { path: "a", new_string: "def foldWing():\n  one" };
    const names = namesIn(talk(agent(call("edit", input, "")), user("other")));
    expect(names).toEqual([0, half, half, 0]);
  });
});
