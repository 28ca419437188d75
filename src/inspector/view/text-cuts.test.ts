import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GAP_MARKER } from "../../stages/lines/select.ts";
import { truncate } from "../../text/truncate.ts";
import { textCuts } from "./text-cuts.ts";
import type { TextRange } from "./types.ts";

const without = (text: string, ranges: readonly TextRange[]): string =>
  ranges.reduceRight((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), text);

describe("the cuts between two texts", () => {
  it("are none where nothing was cut", () => {
    expect(textCuts("same", "same")).toEqual({ cuts: [], added: [] });
  });

  it("are all of a text of which nothing is left", () => {
    expect(textCuts("gone", "")).toEqual({ cuts: [{ start: 0, end: 4 }], added: [] });
  });

  it("are the middle of a text whose ends stay, and the marker is what was added", () => {
    const before = `${"a".repeat(60)}${"b".repeat(60)}${"c".repeat(60)}`;
    const after = `${"a".repeat(60)}<cut>${"c".repeat(60)}`;
    expect(textCuts(before, after)).toEqual({
      cuts: [{ start: 60, end: 120 }],
      added: [{ start: 60, end: 65 }],
    });
  });

  it("are the lines that a choice of lines left out", () => {
    const lines = Array.from({ length: 40 }, (_, number) => `line ${number} of the file`);
    const kept = [...lines.slice(3, 6), GAP_MARKER, ...lines.slice(20, 22)];
    const after = [GAP_MARKER, ...kept, GAP_MARKER].join("\n");
    const before = lines.join("\n");
    const { cuts } = textCuts(before, after);
    const left = without(before, cuts).split("\n");
    expect(left.filter((line) => line !== "")).toEqual([...lines.slice(3, 6), ...lines.slice(20, 22)]);
  });

  it("are only the blanks where blanks at the end of lines were left out", () => {
    const before = "first line\n2: \nthird line\n4:\t\n}\nsixth line\nseventh";
    const after = "first line\n2:\nthird line\n4:\n}\n[...]\nseventh";
    const { cuts, added } = textCuts(before, after);
    expect(without(before, cuts)).toBe("first line\n2:\nthird line\n4:\n}\nseventh");
    expect(added.map(({ start, end }) => after.slice(start, end))).toEqual(["\n[...]"]);
  });

  it("do not run ahead to the same few characters elsewhere", () => {
    const before = `start\n${"x: } ;\n".repeat(9)}changed  \n}\nthe end of it`;
    const after = `start\n[...]\nchanged\n}\nthe end of it`;
    expect(without(before, textCuts(before, after).cuts)).toBe("start\n\nchanged\n}\nthe end of it");
  });

  it("leave the same of both, whatever the texts", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "\n", GAP_MARKER, "\\n"), maxLength: 60 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { cuts, added } = textCuts(before, after);
        expect(without(before, cuts)).toBe(without(after, added));
      }),
    );
  });

  it("of a truncation are exactly what it says it left out", () => {
    fc.assert(
      fc.property(
        fc.nat(200),
        fc.constantFrom("head" as const, "head-tail" as const),
        (limitChars, method) => {
          const before = Array.from({ length: 400 }, (_, index) => String.fromCharCode(0x4e00 + index)).join(
            "",
          );
          const { text, cut } = truncate(before, { limitChars, method });
          const { cuts } = textCuts(before, text);
          expect(cuts.reduce((sum, { start, end }) => sum + end - start, 0)).toBe(cut?.omittedChars);
        },
      ),
    );
  });
});
