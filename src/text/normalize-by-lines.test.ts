import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "../../test/rig/random-history/opencode-history.ts";
import { normalizeByLines, normalizeTextWithCounts } from "./normalize.ts";

const ESC = "\x1b";

describe("normalizeByLines", () => {
  it("gives for any text and any size of pieces what normalizing the whole gives", () => {
    const anyPiece = fc.oneof(
      anyText,
      fc.constantFrom(
        "\n",
        "\r\n",
        "\r",
        "\b",
        `${ESC}[31m`,
        `${ESC}]0;a`,
        `${ESC}Pq`,
        `${ESC}\\`,
        "\x90",
        "\x9c",
      ),
      fc.constantFrom("👩", "\u200d", "\ufe0f", "❤", "1", "\u20e3", "\ud83d", "\ude00", ESC, "[", "\x07"),
    );
    const anyLines = fc.array(anyPiece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(anyLines, fc.integer({ min: 1, max: 60 }), (text, pieceChars) => {
        expect(normalizeByLines(text, pieceChars)).toEqual(normalizeTextWithCounts(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    { name: "a device control string over lines", text: `a${ESC}Pq#0\n#1${ESC}\\b` },
    { name: "an unterminated title", text: `${ESC}]0;title\nnext line` },
    { name: "an escape before a line end", text: `a${ESC}\nb${ESC}[\nc` },
    { name: "a progress line before a line end", text: "10%\r20%\r\n\rdone\n" },
  ])("does not take $name apart", ({ text }) => {
    expect(normalizeByLines(text, 1)).toEqual(normalizeTextWithCounts(text));
  });
});
