import { describe, expect, it } from "vitest";
import { talk, user } from "../../../test/rig/fill-talk.ts";
import { keptText } from "./fill.ts";
import { type FillSegment, readRows } from "./rows.ts";

function kept(text: string, flags: readonly number[]): string | undefined {
  const fill = readRows([{ id: "m1", role: "user", parts: [{ type: "text", text }] }]);
  const [segment] = fill.segments;
  if (segment === undefined) throw new Error("the text has no rows");
  const isShown = Uint8Array.of(1);
  return keptText(fill, segment, { isKept: Uint8Array.from(flags), isShown, firstWholePart: 1 });
}

describe("keptText", () => {
  it.each([
    { name: "marks a gap in the middle", text: "a\nb\nc", flags: [1, 0, 1], after: "a\n[...]\nc" },
    { name: "marks a gap in front", text: "a\nb\nc", flags: [0, 0, 1], after: "[...]\nc" },
    { name: "marks a gap at the end", text: "a\nb\nc", flags: [1, 0, 0], after: "a\n[...]" },
    { name: "is one marker when nothing stays", text: "a\nb", flags: [0, 0], after: "[...]" },
    {
      name: "keeps blank lines between rows that stay",
      text: "a\n\n\nb\nc",
      flags: [1, 1, 0],
      after: "a\n\n\nb\n[...]",
    },
    { name: "drops blank lines behind a gap", text: "a\nb\n\n\nc", flags: [1, 0, 1], after: "a\n[...]\nc" },
    { name: "is undefined when everything stays", text: "  a\n\nb", flags: [1, 1], after: undefined },
  ])("$name", ({ text, flags, after }) => {
    expect(kept(text, flags)).toBe(after);
  });

  it("joins the pieces of a long line as they were", () => {
    const text = `${"word ".repeat(100)}end\nlast`;
    expect(kept(text, [1, 1, 0])).toBe(`${"word ".repeat(100)}end\n[...]`);
  });

  it("ends where its own text ends", () => {
    const fill = readRows(talk(user("one\ntwo"), user("three")));
    const [segment] = fill.segments as readonly [FillSegment];
    const isKept = Uint8Array.of(1, 0, 1);
    expect(keptText(fill, segment, { isKept, isShown: Uint8Array.of(1, 1), firstWholePart: 2 })).toBe(
      "one\n[...]",
    );
  });
});
