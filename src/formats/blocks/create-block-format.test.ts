import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentView } from "../../../test/rig/content-view.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { RANDOM_STAGES, randomCheck } from "../../../test/rig/random-history/check-history.ts";
import { PROVIDER_CASES } from "../../../test/rig/random-history/provider-cases.ts";
import { runs } from "../../../test/rig/runs.ts";
import { applyEdits, runStages } from "../../transcript/edit.ts";

const AT = { at: 1_700_000_000_000 };

describe.each(PROVIDER_CASES)("any history of $api", ({ format, lower }) => {
  it("is the same whether the wire is edited or the transcript", () => {
    fc.assert(
      fc.property(randomCheck(), ({ history, stages, seed }) => {
        const wire = deepFreeze(lower(history));
        const chosen = stages.flatMap((number) => RANDOM_STAGES[number]?.stage(seed) ?? []);
        const transcript = format.decode(wire);
        const { edits } = runStages(transcript, chosen, AT);
        const edited = format.decode(format.apply(wire, edits, AT));
        expect(contentView(edited)).toEqual(contentView(applyEdits(transcript, edits, AT)));
      }),
      { numRuns: runs(200) },
    );
  });

  it("has ids that appending does not change, and each once", () => {
    fc.assert(
      fc.property(randomCheck(), ({ history }) => {
        const ids = format.decode(lower(history)).map(({ id }) => id);
        const shorter = format.decode(lower({ ...history, steps: history.steps.slice(0, -1) }));
        expect(new Set(ids).size).toBe(ids.length);
        expect(shorter.slice(0, -1).map(({ id }) => id)).toEqual(
          ids.slice(0, Math.max(0, shorter.length - 1)),
        );
      }),
      { numRuns: runs(50) },
    );
  });
});
