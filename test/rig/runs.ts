/** How often a test repeats what it tries: as often as it asks for, or `FUZZ_RUNS` times where that is less. */
export function runs(count: number): number {
  // Mutation tests run each property hundreds of times, and a wrong line is found by the first few cases.
  return Math.min(count, Number(process.env.FUZZ_RUNS ?? count));
}
