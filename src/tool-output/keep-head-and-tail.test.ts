import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "../../test/rig/random-history/random-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { normalizeText } from "../text/normalize.ts";
import { keepHeadAndTail, shownSize } from "./keep-head-and-tail.ts";
import { type RawToolOutputLimits, resolveToolOutputLimits } from "./limits.ts";
import { textSize } from "./text-size.ts";

/** What stays, with a bar in the place of what goes. */
function cut(text: string, raw: RawToolOutputLimits): { readonly kept: string; readonly by: string } {
  const { headEnd, tailStart, by } = keepHeadAndTail(text, {
    size: textSize(text),
    limits: resolveToolOutputLimits(raw),
  });
  return { kept: by === "none" ? text : `${text.slice(0, headEnd)}|${text.slice(tailStart)}`, by };
}

describe("keepHeadAndTail", () => {
  it.each([
    {
      name: "keeps a text within all limits",
      text: "a\nb\n",
      limits: { maxLines: 2, maxChars: 4 },
      kept: "a\nb\n",
      by: "none",
    },
    {
      name: "keeps half of the lines from each end",
      text: "1\n2\n3\n4\n5\n6\n",
      limits: { maxLines: 4 },
      kept: "1\n2\n|5\n6\n",
      by: "lines",
    },
    {
      name: "gives the odd line to the end",
      text: "1\n2\n3\n4\n5\n6",
      limits: { maxLines: 5 },
      kept: "1\n2\n|4\n5\n6",
      by: "lines",
    },
    {
      name: "keeps the head alone below four lines",
      text: "1\n2\n3\n4\n5",
      limits: { maxLines: 3 },
      kept: "1\n2\n3\n|",
      by: "lines",
    },
    {
      name: "keeps the head alone in head mode",
      text: "1\n2\n3\n4\n5\n6",
      limits: { maxLines: 4, truncateMode: "head" },
      kept: "1\n2\n3\n4\n|",
      by: "lines",
    },
    {
      name: "takes CRLF for one break",
      text: "1\r\n2\r\n3\r\n4\r\n5\r\n",
      limits: { maxLines: 4 },
      kept: "1\r\n2\r\n|4\r\n5\r\n",
      by: "lines",
    },
    {
      name: "keeps both ends by characters",
      text: "abcdefghij",
      limits: { maxChars: 5 },
      kept: "ab|hij",
      by: "chars",
    },
    {
      name: "keeps the head by characters in head mode",
      text: "abcdefghij",
      limits: { maxChars: 5, truncateMode: "head" },
      kept: "abcde|",
      by: "chars",
    },
    {
      name: "keeps the head by characters below four",
      text: "abcdefghij",
      limits: { maxChars: 3 },
      kept: "abc|",
      by: "chars",
    },
    {
      name: "counts code points, not units",
      text: "😀😀😀😀😀😀",
      limits: { maxChars: 4 },
      kept: "😀😀|😀😀",
      by: "chars",
    },
    {
      name: "keeps both ends by bytes",
      text: "abcdefghij",
      limits: { maxBytes: 6 },
      kept: "abc|hij",
      by: "bytes",
    },
    {
      name: "cuts bytes at a character",
      text: "漢字漢字漢字",
      limits: { maxBytes: 8 },
      kept: "漢|字",
      by: "bytes",
    },
    {
      name: "lets one end use what the other cannot",
      text: "ab\n漢",
      limits: { maxBytes: 5 },
      kept: "ab|漢",
      by: "bytes",
    },
    {
      name: "keeps nothing when not even one character fits",
      text: "漢字",
      limits: { maxBytes: 2 },
      kept: "|",
      by: "bytes",
    },
    {
      name: "applies all three, the last that cut decides",
      text: "aaaa\nb\nc\nd\neeee\n",
      limits: { maxLines: 4, maxChars: 10, maxBytes: 8 },
      kept: "aaaa|eee\n",
      by: "bytes",
    },
    {
      name: "lets the tail use what a short head leaves",
      text: `1\n2\n${"x\n".repeat(9)}${"y".repeat(20)}\n`,
      limits: { maxLines: 4, maxChars: 10 },
      kept: `1\n2\n|${"y".repeat(5)}\n`,
      by: "chars",
    },
    {
      name: "cuts by characters only the head when lines left the head only",
      text: "aaaa\nbbbb\ncccc\n",
      limits: { maxLines: 2, maxChars: 6 },
      kept: "aaaa\n|",
      by: "chars",
    },
    {
      name: "ends with a whole line and begins with one again",
      text: "1033\n1034\n1035\n1036\n1037\n14918\n14919\n",
      limits: { maxBytes: 22 },
      kept: "1033\n1034\n|14919\n",
      by: "bytes",
    },
    {
      name: "cuts a long line inside rather than lose half of an end",
      text: `a\n${"b".repeat(60)}\nc\n`,
      limits: { maxChars: 40 },
      kept: `a\n${"b".repeat(17)}|${"b".repeat(16)}\nc\n`,
      by: "chars",
    },
    {
      name: "does not split CRLF",
      text: "abc\r\ndefghij",
      limits: { maxChars: 8 },
      kept: "abc|ghij",
      by: "chars",
    },
    {
      name: "leaves no joiner at the seam",
      text: "ab👩\u200d💻cdefgh",
      limits: { maxChars: 8 },
      kept: "ab👩|efgh",
      by: "chars",
    },
    {
      name: "leaves no style at the seam",
      text: "abcdef❤\ufe0fghi",
      limits: { maxChars: 8 },
      kept: "abcd|ghi",
      by: "chars",
    },
  ] as const)("$name", ({ text, limits, kept, by }) => {
    expect(cut(text, limits)).toEqual({ kept, by });
  });

  it("keeps every limit, loses nothing it could keep by much, and stays normal at the seams", () => {
    const limit = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 400 }));
    const limits = fc.record({
      maxLines: limit,
      maxChars: limit,
      maxBytes: limit,
      truncateMode: fc.constantFrom("head" as const, "head_tail" as const),
    });
    const texts = fc.array(anyText, { maxLength: 8 }).map((parts) => normalizeText(parts.join("\n")));
    fc.assert(
      fc.property(texts, limits, (text, raw) => {
        const resolved = resolveToolOutputLimits(raw);
        const size = textSize(text);
        const chosen = keepHeadAndTail(text, { size, limits: resolved });
        const shown = shownSize(text, chosen);
        expect(chosen.headEnd).toBeLessThanOrEqual(chosen.tailStart);
        for (const [unit, max] of [
          ["lines", resolved.maxLines],
          ["chars", resolved.maxChars],
          ["bytes", resolved.maxBytes],
        ] as const) {
          if (max > 0) expect(shown[unit]).toBeLessThanOrEqual(max);
          expect(shown[unit]).toBeLessThanOrEqual(size[unit]);
        }
        // One end may miss half a line, a character that does not fit, a line break pair or a joiner.
        if (chosen.by === "chars") expect(shown.chars).toBeGreaterThanOrEqual(resolved.maxChars / 2 - 16);
        if (chosen.by === "bytes") expect(shown.bytes).toBeGreaterThanOrEqual(resolved.maxBytes / 8 - 24);
        if (chosen.by === "lines") expect(shown.lines).toBe(resolved.maxLines);
        const [head, tail] = [text.slice(0, chosen.headEnd), text.slice(chosen.tailStart)];
        expect(normalizeText(`${head}\n`)).toBe(`${head}\n`);
        expect(normalizeText(`\n${tail}`)).toBe(`\n${tail}`);
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe("shownSize", () => {
  it.each([
    { name: "a line cut inside is one line", text: "abcdef", headEnd: 2, tailStart: 4, lines: 1 },
    { name: "lines left out are not shown", text: "a\nb\nc\n", headEnd: 2, tailStart: 4, lines: 2 },
    { name: "two lines of which parts stay are two", text: "ab\ncd", headEnd: 1, tailStart: 4, lines: 2 },
    { name: "a missing break does not hide a line", text: "ab\ncd", headEnd: 2, tailStart: 3, lines: 2 },
    { name: "nothing is no line", text: "abc", headEnd: 0, tailStart: 3, lines: 0 },
    { name: "the break alone shows its line once", text: "abc\n", headEnd: 1, tailStart: 3, lines: 1 },
  ])("$name", ({ text, headEnd, tailStart, lines }) => {
    expect(shownSize(text, { headEnd, tailStart, by: "chars" }).lines).toBe(lines);
  });
});
