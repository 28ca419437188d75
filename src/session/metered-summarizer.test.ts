import { expect, it } from "vitest";
import type { Summarizer } from "../compaction/ports/summarizer.ts";
import type { Usage } from "../transcript/message.ts";
import { meterSummarizer, type SummaryUsage } from "./metered-summarizer.ts";

const REQUEST = { system: "s".repeat(40), prompt: "p".repeat(360), maxOutputTokens: 100 };
const OPTIONS = { signal: new AbortController().signal, onProgress: () => {} };
const USAGE: Usage = {
  inputTokens: 1_000,
  outputTokens: 100,
  reasoningTokens: 40,
  cacheReadTokens: 2_000,
  cacheWriteTokens: 500,
};
const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

async function used(
  summarize: Summarizer["summarize"],
  prices?: typeof PRICES,
): Promise<readonly SummaryUsage[]> {
  const told: SummaryUsage[] = [];
  const report = (each: SummaryUsage): number => told.push(each);
  const meter = meterSummarizer(
    { summarize },
    { report, estimator: "documented", ...(prices && { summaryPrices: prices }) },
  );
  await meter.summarize(REQUEST, OPTIONS).catch(() => {});
  return told;
}

it("reports what the provider counted, and what that cost", async () => {
  const told = await used(async (_, { onUsage }) => {
    onUsage?.(USAGE);
    return "A summary.";
  }, PRICES);
  expect(told).toEqual([{ usage: USAGE, counted: "provider", costUSD: 0.006_975 }]);
});

it("estimates where nobody counted", async () => {
  const [told] = await used(async () => "x".repeat(80));
  expect(told).toMatchObject({ counted: "estimate", usage: { inputTokens: 100, outputTokens: 20 } });
  expect(told).not.toHaveProperty("costUSD");
});

it("reports a call that failed after it was counted, and none that was refused", async () => {
  const failed = await used(async (_, { onUsage }) => {
    onUsage?.(USAGE);
    throw new Error("cut off");
  });
  expect(failed).toHaveLength(1);
  expect(await used(() => Promise.reject(new Error("refused")))).toEqual([]);
});
