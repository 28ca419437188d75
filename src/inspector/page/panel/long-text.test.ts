import fc from "fast-check";
import { expect, it } from "vitest";
import { textPieces } from "./long-text.tsx";

const ALL = { maxChars: Number.MAX_SAFE_INTEGER, pieceChars: Number.MAX_SAFE_INTEGER };

it("gives the whole text with its marks when it may be long", () => {
  fc.assert(
    fc.property(textWithRanges(), ({ text, ranges }) => {
      const { pieces, hiddenChars } = textPieces(text, { ranges, ...ALL });
      expect(pieces.map((piece) => piece.text).join("")).toBe(text);
      expect(hiddenChars).toBe(0);
      const marked = ranges.map(({ start, end }) => text.slice(start, end)).join("");
      expect(
        pieces
          .filter(({ isMarked }) => isMarked)
          .map((piece) => piece.text)
          .join(""),
      ).toBe(marked);
    }),
  );
});

it("never shows much more than was asked for, and counts what it does not show", () => {
  fc.assert(
    fc.property(textWithRanges(), fc.integer({ min: 1, max: 400 }), ({ text, ranges }, maxChars) => {
      const { pieces, hiddenChars } = textPieces(text, { ranges, maxChars, pieceChars: 60 });
      const shownChars = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
      expect(shownChars + hiddenChars).toBe(text.length);
      expect(shownChars).toBeLessThan(maxChars + 80);
      for (const { text: shown, start } of pieces)
        expect(text.slice(start, start + shown.length)).toBe(shown);
    }),
  );
});

it("keeps both ends of a piece that is too long", () => {
  const { pieces } = textPieces("a".repeat(50) + "z".repeat(50), {
    ranges: [],
    maxChars: 1_000,
    pieceChars: 8,
  });
  expect(pieces).toEqual([
    { text: "aaaaaa", isMarked: false, start: 0, skippedChars: 92 },
    { text: "zz", isMarked: false, start: 98 },
  ]);
});

it("bears ranges beyond the end", () => {
  const { pieces } = textPieces("abc", { ranges: [{ start: 2, end: 9 }], ...ALL });
  expect(pieces).toEqual([
    { text: "ab", isMarked: false, start: 0 },
    { text: "c", isMarked: true, start: 2 },
  ]);
});

function textWithRanges() {
  return fc
    .tuple(fc.string({ maxLength: 600 }), fc.uniqueArray(fc.nat(600), { maxLength: 12 }))
    .map(([text, places]) => {
      const sorted = places.filter((place) => place <= text.length).sort((one, other) => one - other);
      const ranges = [];
      for (let at = 0; at + 1 < sorted.length; at += 2) {
        ranges.push({ start: sorted[at] ?? 0, end: sorted[at + 1] ?? 0 });
      }
      return { text, ranges };
    });
}
