import { it } from "vitest";
import { runToolLoop, stepCounts } from "./harness/tool-loop.ts";

it("explores", async () => {
  const started = process.cpuUsage();
  const { ledger, faults, error, ...report } = await runToolLoop({
    provider: (process.env.P ?? "anthropic") as never,
    steps: Number(process.env.N ?? 60),
    windowTokens: Number(process.env.W ?? 32_000),
    leastBytes: Number(process.env.A ?? 5_000),
    mostBytes: Number(process.env.B ?? 200_000),
    ...(process.env.RAW ? {} : { carryover: { limits: { contextTokens: Number(process.env.W ?? 32_000), outputTokens: 4_000 }, ...JSON.parse(process.env.O ?? "{}") } }),
  });
  console.log("REPORT", JSON.stringify({...report, steps: stepCounts(ledger), faults: faults.length, first: faults[0], error: String(error), cpu: process.cpuUsage(started).user / 1e6}));
});
