import { expect, it } from "vitest";
import { createFakeSummarizer, type FakeAnswer } from "../../test/rig/fakes.ts";
import { conversation, SUMMARY, startSession } from "../../test/rig/session.ts";
import type { Usage } from "../transcript/message.ts";
import type { SessionOptions } from "./options.ts";

const USAGE: Usage = {
  inputTokens: 1_000,
  outputTokens: 100,
  reasoningTokens: 40,
  cacheReadTokens: 2_000,
  cacheWriteTokens: 500,
};
/** Of which the prices are known: 3, 15, .3 and 3.75 dollars for a million tokens. */
const model = { provider: "anthropic", id: "claude-sonnet-4-5" };

/** What is told of the calls of one compaction. */
async function used(answer: FakeAnswer, options: SessionOptions = {}) {
  const summarizer = createFakeSummarizer(answer);
  const { session, events } = startSession(options, { summarizer });
  session.observe(conversation(12));
  await session.prepare({ demand: "manual" });
  return { told: events.filter(({ type }) => type === "summary_usage"), calls: summarizer.calls };
}

const counted =
  (text: string | Error): FakeAnswer =>
  async (_, { onUsage }) => {
    onUsage?.(USAGE);
    if (text instanceof Error) throw text;
    return text;
  };

it("reports what the provider counted, and what that cost", async () => {
  const { told } = await used(counted(SUMMARY), { model });
  expect(told).toEqual([{ type: "summary_usage", usage: USAGE, counted: "provider", costUSD: 0.006_975 }]);
});

it("estimates where nobody counted", async () => {
  const { told, calls } = await used(SUMMARY, { estimator: "documented" });
  const { system = "", prompt = "" } = calls[0]?.request ?? {};
  expect(told).toMatchObject([
    {
      counted: "estimate",
      usage: {
        inputTokens: Math.ceil((system.length + prompt.length) / 4),
        outputTokens: Math.ceil(SUMMARY.length / 4),
      },
    },
  ]);
  expect(told[0]).not.toHaveProperty("costUSD");
});

it("reports a call that failed after it was counted, and none that was refused", async () => {
  const failed = await used(counted(new Error("cut off")));
  expect(failed.told).toHaveLength(failed.calls.length);
  expect(failed.told.length).toBeGreaterThan(0);
  const refused = await used(new Error("refused"));
  expect(refused.calls.length).toBeGreaterThan(0);
  expect(refused.told).toEqual([]);
});
