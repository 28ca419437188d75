/**
 * How often a property is tried: in `npm test` a part of what it asks for, with `CARRYOVER_LONG` (`npm run test:all`) all
 * of it, and never more than `FUZZ_RUNS`.
 */
export function runs(count: number): number {
  const usual =
    process.env.CARRYOVER_LONG === undefined ? Math.min(count, Math.max(USUAL_RUNS, count / 10)) : count;
  // Mutation tests run each property hundreds of times, and a wrong line is found by the first few cases.
  return Math.ceil(Math.min(usual, Number(process.env.FUZZ_RUNS ?? count)));
}

const USUAL_RUNS = 200;
