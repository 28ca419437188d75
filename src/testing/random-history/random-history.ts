import fc from "fast-check";
import { buildHistory, type StepDice } from "./build-history.ts";
import type { HistoryCheck } from "./check-history.ts";
import type { History } from "./history.ts";
import { RANDOM_STAGES } from "./random-stages.ts";

/**
 * Histories of 1 to 200 messages, most of them short: up to eight calls in a turn, a tenth of the results missing, late
 * or doubled, a twentieth of the turns broken off, thinking on and off, models that change, cache marks, images, hostile texts.
 */
export function randomHistory(): fc.Arbitrary<History> {
  return fc
    .record({
      steps: fc.oneof(
        { arbitrary: stepsUpTo(6), weight: 94 },
        { arbitrary: stepsUpTo(30), weight: 5 },
        { arbitrary: stepsUpTo(100), weight: 1 },
      ),
      manner: fc.nat(999),
    })
    .map(buildHistory);
}

/** A random history with up to four stages to run on it. */
export function randomCheck(): fc.Arbitrary<HistoryCheck> {
  return fc.record({
    history: randomHistory(),
    stages: fc.array(fc.nat(RANDOM_STAGES.length - 1), { maxLength: 4 }),
    seed: fc.nat(999_999),
  });
}

function stepsUpTo(maxLength: number): fc.Arbitrary<readonly StepDice[]> {
  return fc.array(stepDice, { minLength: 1, maxLength, size: "max" });
}

const stepDice: fc.Arbitrary<StepDice> = fc.record({
  kind: fc.nat(99),
  calls: fc.nat(99),
  content: fc.nat(999_999),
  flaws: fc.array(fc.nat(99), { minLength: 2, maxLength: 2 }),
});
