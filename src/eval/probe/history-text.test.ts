import fc from "fast-check";
import { expect, it } from "vitest";
import { unescapeText } from "./history-text.ts";

it.each([
  { written: String.raw`{"a":"x\ny"}`, read: '{"a":"x\ny"}' },
  { written: String.raw`say \"hi\"\t!`, read: 'say "hi"\t!' },
  { written: String.raw`C:\\new`, read: String.raw`C:\new` },
  { written: String.raw`\d+\s*`, read: String.raw`\d+\s*` },
  { written: "ends with \\", read: "ends with \\" },
  { written: "plain", read: "plain" },
])("reads $written", ({ written, read }) => {
  expect(unescapeText(written)).toBe(read);
});

it("gives back any text that JSON wrote with these escapes only", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "n", "\n", "\t", '"', "\\", " ") }), (text) => {
      expect(unescapeText(JSON.stringify(text).slice(1, -1))).toBe(text);
    }),
  );
});
