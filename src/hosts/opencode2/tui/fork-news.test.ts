import { describe, expect, it } from "vitest";
import { AT_MS, afterEvents, completedFork, runningFork } from "../../../../test/rig/forks/fork-samples.ts";
import type { ForkRecord } from "../../../fork/life/record.ts";
import { forkNews, forkStates } from "./fork-news.ts";

const asking = (record: ForkRecord): ForkRecord =>
  afterEvents(record, { type: "permission-asked", askId: "per_1", what: "shell ls" });

describe("news of forks", () => {
  const running = runningFork();
  const ended = completedFork();
  const none = new Map();
  it.each([
    {
      name: "one that ended",
      before: forkStates([running]),
      now: ended,
      news: [{ type: "ended", text: "completed" }],
    },
    { name: "one that ended is said once", before: forkStates([ended]), now: ended, news: [] },
    { name: "what ended before is none", before: none, now: ended, news: [] },
    {
      name: "one that began and ended since",
      before: none,
      now: ended,
      sinceMs: AT_MS - 1,
      news: [{ type: "ended", tone: "success" }],
    },
    {
      name: "one that asks",
      before: forkStates([running]),
      now: asking(running),
      news: [{ type: "asks", name: "Fork 1 (find the bug)", sessionId: "child" }],
    },
    {
      name: "a question is said once",
      before: forkStates([asking(running)]),
      now: asking(running),
      news: [],
    },
    { name: "one at work is none", before: none, now: running, news: [] },
  ])("$name", ({ before, now, sinceMs = AT_MS + 1, news }) => {
    const found = forkNews([now], { before, sinceMs });
    expect(found).toHaveLength(news.length);
    expect(found).toMatchObject(news);
  });
});
