import { describe, expect, it } from "vitest";
import { resumeLoop, runPersistedLoop } from "./harness/persisted-loop.ts";
import { toolText } from "./harness/tool-texts.ts";

const RANGE = { leastBytes: 2_000, mostBytes: 60_000 };

// `npm run bench state` runs 1,000 steps; what is bounded shows in fewer.
describe("a long loop in a window of 32k tokens, with default options", () => {
  it("persists little, in force and in all, and another process sends the same bytes", async () => {
    const short = await runPersistedLoop({ steps: 120, ...RANGE });
    const loop = await runPersistedLoop({ steps: 240, ...RANGE });
    expect(loop.summaries).toBeGreaterThan(15);
    expect(loop.mostStateBytes).toBeLessThan(100_000);
    expect(loop.mostStateBytes).toBeLessThan(1.3 * short.mostStateBytes);
    expect(loop.writtenBytes).toBeLessThan(2_000 * 240);
    expect(loop.mostRows).toBeLessThanOrEqual(201);
    const resumed = await resumeLoop(loop);
    expect(JSON.stringify(resumed.sent)).toBe(JSON.stringify(loop.sent));
    expect(JSON.stringify(resumed.session)).toBe(JSON.stringify(loop.session));
    const used = (session: typeof loop.session) =>
      session.ledger().reduce((sum, { summaryUsage }) => sum + (summaryUsage?.inputTokens ?? 0), 0);
    expect(used(resumed.session)).toBe(used(loop.session));
    const [piece = ""] = toolText(5, 3_000).split("\n");
    expect(await resumed.session.recall({ search: piece })).toMatchObject({ status: "matches" });
  });
});
