import { it } from "vitest";
import { runToolLoop, stepCounts } from "./harness/tool-loop.ts";

it("explores", async () => {
  const started = process.cpuUsage();
  const { ledger, faults, error, ...report } = await runToolLoop({
    provider: (process.env.P ?? "openai-compatible") as never,
    steps: Number(process.env.N ?? 60),
    windowTokens: Number(process.env.W ?? 32_000),
    leastBytes: 5_000,
    mostBytes: 200_000,
    ...(process.env.RAW ? {} : { carryover: { limits: { contextTokens: Number(process.env.W ?? 32_000), outputTokens: 4_000 }, ...JSON.parse(process.env.O ?? "{}") } }),
  });
  console.log(report, stepCounts(ledger), faults.slice(0, 5), faults.length, error);
  console.log(process.cpuUsage(started).user / 1e6);
});
