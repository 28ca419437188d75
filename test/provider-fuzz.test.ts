import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkHistory, type HistoryCheck, randomCheck } from "./rig/random-history/check-history.ts";
import { PROVIDER_CASES } from "./rig/random-history/provider-cases.ts";
import { runs } from "./rig/runs.ts";

const HISTORIES = 10_000;

describe.each(PROVIDER_CASES)("random histories on $api", (provider) => {
  it("are edited by any stages without a fault, and repaired without any left", () => {
    const check = (given: HistoryCheck) => {
      const problem = checkHistory(given, provider);
      // Printed as JSON, the wire can be pasted into a test.
      if (problem !== undefined) expect.fail(JSON.stringify(problem, null, 1));
    };
    fc.assert(fc.property(randomCheck(), check), { numRuns: runs(HISTORIES, 300) });
  });
});
