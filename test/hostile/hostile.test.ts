import { afterAll, describe, expect, it } from "vitest";
import { ENTRY_POINTS, type Entered } from "./entry-points.ts";
import { findHarm, findMalformed } from "./find-harm.ts";
import { hostileSets } from "./hostile-sets.ts";
import { describeCase, slowestOf, type TimedCase, timeCase } from "./time-case.ts";

const sets = await hostileSets();

describe.each(Object.entries(sets))("%s hostile texts", (name, texts) => {
  const held: TimedCase[] = [];

  describe.each(ENTRY_POINTS)("as $name", (entryPoint) => {
    it.each(texts)("$id do no harm", async (text) => {
      const { entered, timed } = await timeCase(entryPoint, text);
      expect(harmDone(entered)).toEqual([]);
      held.push(timed);
    });
  });

  afterAll(() => {
    const all = texts.length * ENTRY_POINTS.length;
    console.log(
      `hostile text, ${name}: ${held.length} of ${all} (${texts.length} texts × ${ENTRY_POINTS.length})`,
    );
    const slowest = slowestOf(held);
    if (slowest !== undefined) console.log(`hostile text, ${name}, slowest: ${describeCase(slowest)}`);
  });

  it("are eighty", () => expect(texts).toHaveLength(80));
});

function harmDone({ read, sent, faults, unsettled }: Entered): readonly unknown[] {
  return [...read.flatMap(findHarm), ...sent.flatMap(findMalformed), ...faults, ...unsettled];
}
