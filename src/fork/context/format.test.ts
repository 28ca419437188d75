import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../../test/rig/notation.ts";
import { processMessagesForFork } from "../fork.ts";
import { createContextFrame, formatMessagesAsContext } from "./format.ts";

describe("formatMessagesAsContext", () => {
  it("describes messages that no pipeline saw", () => {
    const { text, stats } = formatMessagesAsContext(deepFreeze(transcript("u:3 a(read:4)")));
    expect(stats).toEqual({
      originalCount: 2,
      finalCount: 2,
      totalChars: text.length,
      removedMessages: 0,
      compactionDetected: false,
      compactionSliceIndex: -1,
      truncatedResults: 0,
      tierDistribution: { tier1: 1, tier2: 0, tier3: 0 },
      headTailApplied: 0,
      clearedResults: 0,
      errorResults: 0,
      truncatedByTier: { tier1: 0, tier2: 0, tier3: 0 },
      budgetZone: "under",
      oversizeTruncated: 0,
    });
  });

  it("keeps to the budget that the pipeline was given, unless it is told another", () => {
    const { messages, stats } = processMessagesForFork(transcript("u:900 u:900"), { budgetChars: 3_000 });
    const more = [...messages, ...transcript("y:1 y:1 u:900 u:900")];
    expect(formatMessagesAsContext(more, stats).stats.removedMessages).toBe(1);
    expect(formatMessagesAsContext(more, stats, { budgetChars: 9_000 }).stats.removedMessages).toBe(0);
  });

  it("says how many messages are missing in all, and the tag carries the session", () => {
    const { messages, stats } = processMessagesForFork(transcript("u:900 u:900"), { budgetChars: 1_000 });
    const more = [...messages, ...transcript("y:1 u:900")];
    const { text } = formatMessagesAsContext(more, stats, { sessionId: "ses_1" });
    expect(text).toMatch(/^<inherited_context n="\w+">\n\[2 earlier messages omitted\]\nSystem:\n/);
  });

  it("counts the results again when messages had to go, and only then", () => {
    const messages = transcript("a(read:600) a(read:300)");
    const { stats } = processMessagesForFork(messages, { budgetChars: 2_000 });
    const strange = { ...stats, errorResults: 7 };
    expect(formatMessagesAsContext(messages, strange).stats.errorResults).toBe(7);
    const short = formatMessagesAsContext(messages, strange, { budgetChars: 512 }).stats;
    expect(short.errorResults).toBe(0);
    expect(short.tierDistribution).toEqual({ tier1: 1, tier2: 0, tier3: 0 });
  });
});

describe("the wrapper", () => {
  const open = (removedMessages: number, budgetChars = 1_000, sessionId?: string) =>
    createContextFrame({ sessionId, budgetChars }).wrap(["\nUser:\nx"], removedMessages).split("\nUser:")[0];

  it("says how many messages are missing", () => {
    expect(open(0)).toBe("<inherited_context>");
    expect(open(1)).toBe("<inherited_context>\n[1 earlier message omitted]");
    expect(open(2)).toBe("<inherited_context>\n[2 earlier messages omitted]");
  });

  it("leaves that line out where there is no room for it, and is as long as it says", () => {
    const text = "\nUser:\nx";
    const whole = `<inherited_context>\n[1 earlier message omitted]${text}\n</inherited_context>`.length;
    const lengths = [whole, whole - 1].map((budgetChars) => {
      const frame = createContextFrame({ budgetChars });
      expect(frame.textChars(text.length, 1)).toBe(frame.wrap([text], 1).length);
      return frame.wrap([text], 1).length;
    });
    expect(lengths).toEqual([whole, whole - "\n[1 earlier message omitted]".length]);
  });

  it("is not written around nothing", () => {
    expect(createContextFrame({ budgetChars: 512 }).wrap([""], 3)).toBe("");
  });

  it("names a session the same on every machine", () => {
    expect(open(0, 1_000, "ses_1")).toBe('<inherited_context n="kodcaq">');
    expect(open(0, 1_000, "")).toBe('<inherited_context n="ztntfp">');
  });
});
