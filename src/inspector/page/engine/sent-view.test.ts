import fc from "fast-check";
import { expect, it } from "vitest";
import { createInspection } from "../../view/inspection.ts";
import type { InspectedSession, MessageRow, WindowView } from "../../view/types.ts";
import { diffView, patchView } from "./answer.ts";

const session: InspectedSession = {
  name: "made",
  format: "opencode",
  windowTokens: 1_000,
  windowKnown: true,
  transcript: Array.from({ length: 1_000 }, (_, index) => ({
    id: `m${index}`,
    role: "user",
    parts: [{ type: "text", text: "hello" }],
  })),
  redactedSecrets: 0,
  problems: [],
};
const view: WindowView = createInspection(session).inspectWindow({ policy: "as-sent" });
const changed = (row: MessageRow): MessageRow => ({ ...row, keptTokens: 0 });

it("comes back as it was, whatever is known of it, with the known rows as the same objects", () => {
  const rows = fc.array(fc.boolean(), { maxLength: 1_000, size: "max" });
  fc.assert(
    fc.property(rows, fc.nat(1_000), (changes, knownRows) => {
      const now = {
        ...view,
        rows: changes.map((isChanged, index) => {
          const row = view.rows[index] as MessageRow;
          return isChanged ? changed(row) : row;
        }),
      };
      const known = view.rows.slice(0, knownRows);
      const sent = diffView(now, known);
      const back = patchView(structuredClone(sent.view), {
        changed: structuredClone(sent.slices).flat(),
        known,
      });
      expect(back).toEqual(now);
      for (const [index, isChanged] of changes.entries()) {
        if (!isChanged && index < knownRows) expect(back.rows[index]).toBe(known[index]);
      }
    }),
    // A thousand rows shrink for ever.
    { numRuns: 40, endOnFailure: true },
  );
});

it("comes in slices that are soon read", () => {
  const { slices } = diffView(view, []);
  expect(slices.map(({ length }) => length)).toEqual([400, 400, 200]);
});
