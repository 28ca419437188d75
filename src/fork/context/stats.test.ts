import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../../test/rig/notation.ts";
import { DOCUMENTED_TIER_LIMITS } from "../../stages/tiers.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { OutputCut } from "../../transcript/part.ts";
import { countResults, type ProcessingStats, sizeStats } from "./format.ts";

/** One finished call for each cut. */
function cutResults(...cuts: readonly Partial<OutputCut>[]): Transcript {
  return deepFreeze(
    cuts.map((cut, number): Message => {
      const [message] = transcript("a(read:20)");
      const whole = { method: "head", originalChars: 90, omittedChars: 70, limitChars: 20 } as const;
      const parts = message?.parts.map((part) => ({ ...part, cut: { ...whole, ...cut } })) ?? [];
      return { id: `m${number}`, role: "assistant", parts: parts as Message["parts"] };
    }),
  );
}

describe("countResults", () => {
  it("counts each result once for its tier and once for what became of it", () => {
    const messages = [
      ...transcript("a(read:9,read!9,read!9) a(bash~9,bash~9,bash:0,bash?)"),
      ...cutResults({ method: "head-tail" }, {}, {}, { method: "lines" }),
    ];
    const limits = { ...DOCUMENTED_TIER_LIMITS, tier1Count: 3, tier2Count: 3 };
    expect(countResults(messages, limits)).toEqual({
      truncatedResults: 4,
      tierDistribution: { tier1: 3, tier2: 3, tier3: 1 },
      headTailApplied: 1,
      clearedResults: 2,
      errorResults: 2,
      truncatedByTier: { tier1: 3, tier2: 1, tier3: 0 },
      selectedResults: 1,
    });
  });

  it("says nothing of chosen lines and newer results where there are none", () => {
    const stats = countResults(transcript("a(read:9)"), DOCUMENTED_TIER_LIMITS);
    expect(stats).not.toHaveProperty("selectedResults");
    expect(stats).not.toHaveProperty("supersededResults");
  });

  it.each([
    { name: "nothing is left but a line", cut: { omittedChars: 90 }, count: 1 },
    { name: "more is missing than there was", cut: { omittedChars: 91 }, count: 1 },
    { name: "one character is left", cut: { omittedChars: 89 }, count: undefined },
    {
      name: "the ends are kept",
      cut: { omittedChars: 90, method: "head-tail" } as const,
      count: undefined,
    },
    {
      name: "there was nothing to leave out",
      cut: { omittedChars: 0, originalChars: 0 },
      count: undefined,
    },
  ])("superseded, when $name: $count", ({ cut, count }) => {
    expect(countResults(cutResults(cut), DOCUMENTED_TIER_LIMITS).supersededResults).toBe(count);
  });
});

describe("sizeStats", () => {
  const textChars = (messagesChars: number, removedMessages: number) => messagesChars * 100 + removedMessages;
  const hide = { type: "hide-message", messageId: "m", stage: "char-budget", reason: "over-budget" } as const;
  const cut = { ...hide, type: "hide-part", partIndex: 0, what: "part" } as const;
  const kept = transcript("u:10 a:20");
  const render = ({ id }: Message) => (id === "m1" ? "1234567890" : "");

  it("adds what this pass removed and shortened to what an earlier one did", () => {
    const earlier = { removedMessages: 3, oversizeTruncated: 5, budgetZone: "over" } as ProcessingStats;
    const budgetEdits = [hide, hide, cut];
    expect(sizeStats({ kept, budgetEdits, textChars, render, earlier })).toEqual({
      finalCount: 1,
      totalChars: textChars(10, 5),
      removedMessages: 5,
      budgetZone: "over",
      oversizeTruncated: 6,
    });
  });

  it("is over when an earlier pass was, though this one had nothing to do", () => {
    const earlier = { removedMessages: 1, budgetZone: "over" } as ProcessingStats;
    expect(sizeStats({ kept, budgetEdits: [], textChars, render, earlier })).toEqual({
      finalCount: 1,
      totalChars: textChars(10, 1),
      removedMessages: 1,
      budgetZone: "over",
      oversizeTruncated: 0,
    });
  });

  it("has no wrapper around nothing", () => {
    expect(sizeStats({ kept: [], budgetEdits: [], textChars, render })).toEqual({
      finalCount: 0,
      totalChars: 0,
      removedMessages: 0,
      budgetZone: "under",
      oversizeTruncated: 0,
    });
  });
});
