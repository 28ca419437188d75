import fc from "fast-check";

// One seed for everybody, so that a failure is the same failure everywhere; FUZZ_SEED=$RANDOM looks elsewhere.
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 20_261_115) });
