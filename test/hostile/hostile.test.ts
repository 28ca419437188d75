import { afterAll, describe, expect, it } from "vitest";
import { ENTRY_POINTS, type Entered } from "./entry-points.ts";
import { findHarm, findMalformed } from "./find-harm.ts";
import { hostileSets } from "./hostile-sets.ts";
import type { HostileText } from "./hostile-texts.ts";
import { describeCase, slowestOf, type TimedCase, timeCase } from "./time-case.ts";

const sets = await hostileSets();

describe.each(Object.entries(sets))("%s hostile texts", (name, texts) => {
  const held: TimedCase[] = [];

  describe.each(ENTRY_POINTS)("as $name", (entryPoint) => {
    it.each(textsFor(name, ENTRY_POINTS.indexOf(entryPoint)))("$id do no harm", async (text) => {
      const { entered, timed } = await timeCase(entryPoint, text);
      expect(harmDone(entered)).toEqual([]);
      held.push(timed);
    });
  });

  afterAll(() => {
    const all = ENTRY_POINTS.flatMap((_, index) => textsFor(name, index)).length;
    console.log(
      `hostile text, ${name}: ${held.length} of ${all} (${texts.length} texts, ${ENTRY_POINTS.length} ways)`,
    );
    const slowest = slowestOf(held);
    if (slowest !== undefined) console.log(`hostile text, ${name}, slowest: ${describeCase(slowest)}`);
  });

  it("are eighty", () => expect(texts).toHaveLength(80));
});

/**
 * Our own texts come in every way. Those of ../shared are of the same kinds: each comes in two of the six ways, and in all
 * of them with `CARRYOVER_LONG`.
 */
function textsFor(set: string, way: number): readonly HostileText[] {
  const texts = sets[set] ?? [];
  if (set === "our own" || process.env.CARRYOVER_LONG !== undefined) return texts;
  return texts.filter((_, index) => index % 3 === way % 3);
}

function harmDone({ read, sent, faults, unsettled }: Entered): readonly unknown[] {
  return [...read.flatMap(findHarm), ...sent.flatMap(findMalformed), ...faults, ...unsettled];
}
