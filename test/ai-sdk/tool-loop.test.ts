import { describe, expect, it } from "vitest";
import { type LoopOptions, type LoopReport, runToolLoop, stepCounts } from "./harness/tool-loop.ts";

const WINDOW_TOKENS = 32_000;
const small = { leastBytes: 5_000, mostBytes: 200_000, windowTokens: WINDOW_TOKENS } as const;
const limits = { contextTokens: WINDOW_TOKENS, outputTokens: 4_000 } as const;

/** Nothing is timed; a busy machine may take its time. */
const PATIENCE = { timeout: 600_000 };

describe("a long loop in a window of 32k tokens, with outputs of 5 to 200 KB", PATIENCE, () => {
  const loops: readonly Omit<LoopOptions, keyof typeof small>[] = [
    { provider: "openai-compatible", way: "generate", steps: 300 },
    { provider: "anthropic", way: "stream", steps: 300 },
    { provider: "openai-responses", way: "stream", steps: 60 },
    { provider: "openai-chat", way: "generate", steps: 60 },
    { provider: "anthropic", way: "generate", steps: 30, parallel: 6 },
    { provider: "openai-responses", way: "generate", steps: 30, parallel: 6 },
  ];

  it.each(loops)(
    "never overflows and never sends a faulty request: $provider, $way, $steps steps",
    async (loop) => {
      const report = await runToolLoop({ ...small, ...loop, carryover: { limits } });
      tell(`${loop.provider} ${loop.way} ${loop.steps} steps`, report);
      expect(report.error).toBeUndefined();
      expect(report.text).toBe("All files are read.");
      expect(report.refusals).toBe(0);
      expect(report.faults).toEqual([]);
      expect(report.requests - report.summaries).toBe(loop.steps + 1);
    },
  );

  it("overflows without us", async () => {
    const report = await runToolLoop({ ...small, provider: "openai-compatible", steps: 30 });
    expect(report.refusals).toBe(1);
    expect(report.text).toBe("");
  });
});

describe("a long loop in a window in which it also fits without us", PATIENCE, () => {
  it.each([
    { provider: "anthropic", steps: 60, leastBytes: 5_000, mostBytes: 200_000 },
    { provider: "anthropic", steps: 150, leastBytes: 5_000, mostBytes: 20_000 },
  ] as const)(
    "costs at most 0.75 of the price, though edits pay for thoughts, which are not in it: $steps steps of $leastBytes to $mostBytes bytes",
    async (loop) => {
      const windowTokens = 1_000_000;
      const limits = { contextTokens: windowTokens, outputTokens: 8_000 };
      const without = await runToolLoop({ ...loop, windowTokens });
      const withUs = await runToolLoop({ ...loop, windowTokens, carryover: { limits } });
      tell("without us", without);
      tell("with us", withUs);
      const ratio = withUs.price / without.price;
      console.log(`  ${ratio.toFixed(2)} of the price`);
      expect([without.text, withUs.text]).toEqual(["All files are read.", "All files are read."]);
      expect(withUs.faults).toEqual([]);
      expect(ratio).toBeLessThanOrEqual(0.75);
    },
  );
});

function tell(
  name: string,
  { price, requests, summaries, refusals, largestTokens, ledger }: LoopReport,
): void {
  const figures = { price, requests, summaries, refusals, largestTokens, steps: stepCounts(ledger) };
  console.log(`  ${name}: ${JSON.stringify(figures)}`);
}
