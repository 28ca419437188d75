import { parseArgs } from "node:util";
import fc from "fast-check";
import { checkHistory, type HistoryProblem, randomCheck } from "../test/rig/random-history/check-history.ts";
import { PROVIDER_CASES } from "../test/rig/random-history/provider-cases.ts";

// Many more histories than a test run has time for, each written for every provider: `--count`, `--seed`, `--api`.
const { values } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    api: { type: "string" },
  },
});
const historyCount = Number(values.count);
const seed = Number(values.seed);
const providers = PROVIDER_CASES.filter(({ api }) => values.api === undefined || values.api === api);
console.log(`${historyCount} histories on ${providers.map(({ api }) => api).join(", ")}, seed ${seed}`);

let done = 0;
const findProblem = (given: Parameters<typeof checkHistory>[0]): HistoryProblem | undefined => {
  for (const provider of providers) {
    const problem = checkHistory(given, provider);
    if (problem !== undefined) return problem;
  }
  return undefined;
};
const details = fc.check(
  fc.property(randomCheck(), (given) => {
    done++;
    if (done % 5_000 === 0) console.log(`${done} histories, no fault so far`);
    return findProblem(given) === undefined;
  }),
  { numRuns: historyCount, seed },
);
const [smallest] = details.counterexample ?? [];
if (!details.failed || smallest === undefined) {
  console.log(`${details.numRuns} histories, 0 faults`);
} else {
  console.error(
    `failed after ${details.numRuns} histories; again with --seed ${seed} --count ${details.numRuns}`,
  );
  console.error(JSON.stringify(findProblem(smallest), null, 1));
  process.exitCode = 1;
}
