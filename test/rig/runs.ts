/**
 * How often a property is tried: in `npm test` a part of what it asks for, or what is given as usual where one try takes
 * long; with `CARRYOVER_LONG` (`npm run test:all`) all of it; and never more than `FUZZ_RUNS`.
 */
export function runs(count: number, usualRuns: number = Math.max(USUAL_RUNS, count / 10)): number {
  const usual = process.env.CARRYOVER_LONG === undefined ? Math.min(count, usualRuns) : count;
  // Mutation tests run each property hundreds of times, and a wrong line is found by the first few cases.
  return Math.ceil(Math.min(usual, Number(process.env.FUZZ_RUNS ?? count)));
}

const USUAL_RUNS = 100;
