import { default as fc } from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "../../test/rig/random-history/random-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { normalizeText } from "../text/normalize.ts";
import { measureText, type TextSize, textSize } from "./text-size.ts";

/** The same counts the plain way. */
function countPlainly(text: string): TextSize {
  const lines = text.split(/\r?\n/);
  return {
    lines: lines.at(-1) === "" ? lines.length - 1 : lines.length,
    chars: [...text].length,
    bytes: Buffer.byteLength(text),
  };
}

describe("textSize", () => {
  it.each([
    { text: "", lines: 0, chars: 0, bytes: 0 },
    { text: "a", lines: 1, chars: 1, bytes: 1 },
    { text: "a\n", lines: 1, chars: 2, bytes: 2 },
    { text: "a\r\nb\r\n", lines: 2, chars: 6, bytes: 6 },
    { text: "\n\n", lines: 2, chars: 2, bytes: 2 },
    { text: "é漢😀", lines: 1, chars: 3, bytes: 9 },
  ])("counts $text as $lines lines, $chars characters, $bytes bytes", ({ text, ...size }) => {
    expect(textSize(text)).toEqual(size);
  });

  it("counts any text as plain counting does, also where the passes over it meet", () => {
    const long = fc
      .record({
        text: anyText,
        lead: fc.integer({ min: 65_520, max: 65_540 }),
        fill: fc.constantFrom("a", "\n", "é"),
      })
      .map(({ text, lead, fill }) => fill.repeat(lead) + text + fill.repeat(70_000) + text);
    fc.assert(
      fc.property(fc.oneof({ arbitrary: anyText, weight: 9 }, { arbitrary: long, weight: 1 }), (raw) => {
        const text = raw.toWellFormed();
        expect(textSize(text)).toEqual(countPlainly(text));
      }),
      { numRuns: runs(500) },
    );
  });
});

describe("surveyText", () => {
  it("never calls a text normal that normalizing would change", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 65_530, max: 65_537 }), (raw, lead) => {
        for (const text of [raw.toWellFormed(), "a".repeat(lead) + raw.toWellFormed()]) {
          if (measureText(text).isNormal) expect(normalizeText(text)).toBe(text);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  it("calls plain text, emoji and line breaks of both kinds normal", () => {
    for (const text of ["plain\tlog\n".repeat(20_000), "❤️ 👩‍💻 1️⃣\r\n", "日本語\r\n".repeat(30_000)]) {
      expect(measureText(text).isNormal).toBe(true);
    }
  });

  it("finds one escape sequence in a long text", () => {
    expect(measureText(`${"a".repeat(200_000)}\x1b[0m`).isNormal).toBe(false);
  });
});
