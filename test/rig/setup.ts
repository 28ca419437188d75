import fc from "fast-check";

// One seed for everybody, so that a failure is the same failure everywhere; FUZZ_SEED=$RANDOM looks elsewhere.
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 20_261_115) });

if (process.env.CARRYOVER_EXPECT_BUN !== undefined && process.versions.bun === undefined) {
  throw new Error("These tests were to run in Bun, and run in Node");
}
