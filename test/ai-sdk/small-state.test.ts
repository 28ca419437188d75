import { describe, expect, it } from "vitest";
import { resumeLoop, runPersistedLoop } from "./harness/persisted-loop.ts";
import { toolText } from "./harness/tool-texts.ts";

const RANGE = { leastBytes: 2_000, mostBytes: 60_000 };

// `npm run bench state` runs 1,000 steps; what is trimmed shows in fewer.
describe("a long loop in a window of 32k tokens", () => {
  it.each([
    { how: "pruned, as by default", options: {}, step: "prune", steps: 400, mostBytes: 200_000 },
    // By default pruning spares this loop every summary, and those are kept otherwise.
    { how: "summed up", options: { prune: "off" }, step: "compact", steps: 200, mostBytes: 100_000 },
  ] as const)(
    "persists little, in force and in all, and another process sends the same bytes: $how",
    async ({ options, step: expected, steps, mostBytes }) => {
      const loop = await runPersistedLoop({ steps, ...RANGE }, options);
      expect(loop.session.ledger().filter(({ step }) => step === expected).length).toBeGreaterThan(15);
      expect(loop.mostStateBytes).toBeLessThan(mostBytes);
      expect(loop.mostStateBytes).toBeLessThan(1.3 * loop.halfMostStateBytes);
      expect(loop.writtenBytes).toBeLessThan(2_000 * steps);
      expect(loop.mostRows).toBeLessThanOrEqual(201);
      const resumed = await resumeLoop(loop);
      expect(JSON.stringify(resumed.sent)).toBe(JSON.stringify(loop.sent));
      const { batches } = loop.session.toJSON();
      expect(JSON.stringify(resumed.session.toJSON().batches)).toBe(JSON.stringify(batches));
      const used = (session: typeof loop.session) =>
        session.ledger().reduce((sum, { summaryUsage }) => sum + (summaryUsage?.inputTokens ?? 0), 0);
      expect(used(resumed.session)).toBe(used(loop.session));
      const [piece = ""] = toolText(5, 3_000).split("\n");
      expect(await resumed.session.recall({ search: piece })).toMatchObject({ status: "matches" });
    },
  );
});
