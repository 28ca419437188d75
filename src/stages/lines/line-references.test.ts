import { describe, expect, it } from "vitest";
import { agent, call, talk } from "../../../test/rig/fill-talk.ts";
import type { Transcript } from "../../transcript/message.ts";
import { readLineReferences } from "./line-references.ts";
import { readRows } from "./rows.ts";

describe("a text names lines of a file", () => {
  const range = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const named = (transcript: Transcript) =>
    Object.fromEntries(
      Array.from(readLineReferences(readRows(transcript)), ([file, lines]) => [file, [...lines]]),
    );

  it.each([
    ["see engine.ts:49", { "engine.ts": range(46, 52) }],
    ["src/engine.ts(49,7): error", { "engine.ts": range(46, 52) }],
    ["at engine.ts:49:7", { "engine.ts": range(46, 52) }],
    ["engine.ts (lines 60-75)", { "engine.ts": range(57, 78) }],
    ["engine.ts:60 – 75", { "engine.ts": range(57, 78) }],
    ["In engine.ts, Line 5 and line 20", { "engine.ts": [...range(2, 8), ...range(17, 23)] }],
    ["engine.ts L7", { "engine.ts": range(4, 10) }],
    ["a.ts:1 and b.ts:9", { "a.ts": range(1, 4), "b.ts": range(6, 12) }],
    ["a.ts:10-500", { "a.ts": range(7, 213) }],
    ["a.ts and b.ts: line 9", { "b.ts": range(6, 12) }],
    ["line 5", {}],
    ["version 1.2:49", {}],
    [`a.ts ${"x ".repeat(120)}line 5`, {}],
    [`${"x".repeat(20_000)} a.ts:5`, {}],
  ])("%s", (text, expected) => expect(named(talk(agent(text)))).toEqual(expected));

  it("where a tool printed it, and not where a file holds it", () => {
    expect(named(talk(agent(call("bash", { command: "tsc" }, "a.ts:9: error"))))).toEqual({
      "a.ts": range(6, 12),
    });
    expect(named(talk(agent(call("read", { filePath: "b.md" }, "1: a.ts:9"))))).toEqual({});
  });
});
