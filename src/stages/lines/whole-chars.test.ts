import { describe, expect, it } from "vitest";
import { agent, call, talk } from "../../../test/rig/fill-talk.ts";
import { type FillSegment, readRows, wholeChars } from "./rows.ts";

function charsOf(tool: string, output: string): number {
  const { rows, segments } = readRows(talk(agent(call(tool, { path: "a" }, output), call(tool, {}, "more"))));
  return wholeChars(rows, segments[1] as FillSegment);
}

const padded = "     1→\tone\n     2→\ttwo\n\n     3→\tthree";

describe("wholeChars", () => {
  it("counts a file that was read without the padding of line numbers", () => {
    expect(charsOf("read", padded)).toBe("1→\tone\n2→\ttwo\n\n3→\tthree\n".length);
  });

  it("counts any other text as it is", () => {
    expect(charsOf("bash", padded)).toBe(padded.length + 1);
    expect(charsOf("read", "one\ntwo")).toBe("one\ntwo\n".length);
  });

  it("leaves padding in place where dropping it saves too little", () => {
    const rest = "x".repeat(300);
    expect(charsOf("read", `  1→${rest}`)).toBe(`  1→${rest}\n`.length);
    const share = `    1→${"x".repeat(94)}`;
    expect(charsOf("read", share)).toBe(share.length + 1);
    expect(charsOf("read", `${" ".repeat(12)}1→${rest}`)).toBe(`1→${rest}\n`.length);
  });
});
