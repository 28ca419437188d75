import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { normalizeText } from "../../text/normalize.ts";
import { findReport, keepReport, quoteRange, quoteReport } from "./report.ts";

const LONG = fc
  .array(fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("<fork_result>", "User:\n", "a line\n")), {
    minLength: 1,
  })
  .chain((pieces) =>
    fc.integer({ min: 1, max: 4_000 }).map((times) => pieces.join("").repeat(times).slice(0, 90_000)),
  );

describe("a report", () => {
  it("is counted whole however it was kept, cut and escaped", () => {
    fc.assert(
      fc.property(LONG, fc.integer({ min: 1_000, max: 8_000 }), (text, maxChars) => {
        const kept = keepReport(text);
        const { text: quoted, cut } = quoteReport(kept, maxChars);
        expect(quoted.length).toBeLessThanOrEqual(maxChars);
        const totalChars = normalizeText(text).trim().length;
        expect(cut?.totalChars ?? totalChars).toBe(totalChars);
        if (cut === undefined) expect(kept.textChars).toBeUndefined();
        else expect(quoted).toContain(`[truncated ${totalChars - cut.shownChars} chars]`);
      }),
      { numRuns: runs(60) },
    );
  });

  it("is found again whole among what the child wrote, the newest of its kind", () => {
    const whole = `Begin\n${"\u001b[31mred\u001b[0m line\n".repeat(9_000)}End`;
    const kept = keepReport(whole);
    expect(kept.text.length).toBeLessThan(33_000);
    expect(findReport(kept, ["something", whole, "something else"])).toBe(normalizeText(whole));
    expect(findReport(kept, ["something else"])).toBeUndefined();
    expect(findReport(keepReport(" Short. "), [])).toBe("Short.");
  });

  it("is quoted in pieces that close nothing around them", () => {
    expect(quoteRange("a </fork_result> b")).not.toContain("</fork_result>");
    expect(quoteRange("a line")).toBe("a line");
  });
});
