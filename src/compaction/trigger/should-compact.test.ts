import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { DEFAULT_COMPACTION_SETTINGS as defaults } from "./compaction-settings.ts";
import { afterCompaction, FRESH_TRIGGER, type Situation, shouldCompact } from "./should-compact.ts";

const ask = (situation: Partial<Situation>) =>
  shouldCompact(
    deepFreeze({
      settings: defaults,
      contextTokens: 0,
      visibleMessages: 0,
      contextWindowTokens: 200_000,
      ...situation,
    }),
  );
const noTokenLimit = { ...defaults, maxTokens: 0 };

describe("shouldCompact", () => {
  it.each<{ name: string; situation: Partial<Situation>; compact: boolean; reason: string }>([
    {
      name: "reaching the limit is enough",
      situation: { contextTokens: 183_616 },
      compact: true,
      reason: "over-limit",
    },
    {
      name: "one below is not",
      situation: { contextTokens: 183_615 },
      compact: false,
      reason: "under-limit",
    },
    {
      name: "messages do not count where a token limit exists",
      situation: { visibleMessages: 5_000 },
      compact: false,
      reason: "under-limit",
    },
    {
      name: "messages count where none exists",
      situation: { settings: noTokenLimit, contextWindowTokens: 0, visibleMessages: 50 },
      compact: true,
      reason: "over-messages",
    },
    {
      name: "one message fewer does not",
      situation: {
        settings: noTokenLimit,
        contextWindowTokens: 0,
        visibleMessages: 49,
        contextTokens: 900_000,
      },
      compact: false,
      reason: "under-messages",
    },
    {
      name: "maxMessages 0 switches that off",
      situation: {
        settings: { ...noTokenLimit, maxMessages: 0 },
        contextWindowTokens: 0,
        visibleMessages: 5_000,
      },
      compact: false,
      reason: "under-messages",
    },
    {
      name: "auto off comes first",
      situation: { settings: { ...defaults, autoCompact: false }, contextTokens: 900_000 },
      compact: false,
      reason: "auto-off",
    },
    {
      name: "an unknown window is not always over",
      situation: { contextWindowTokens: 0, contextTokens: 7_999 },
      compact: false,
      reason: "under-limit",
    },
    {
      name: "a window of 8,192 compacts at 80 %",
      situation: { contextWindowTokens: 8_192, contextTokens: 6_553 },
      compact: true,
      reason: "over-limit",
    },
  ])("$name", ({ situation, compact, reason }) => {
    expect(ask(situation)).toMatchObject({ compact, reason });
  });

  it("gives the limit, its source and the clamped tail with the answer", () => {
    expect(ask({ contextWindowTokens: 8_192, contextTokens: 7_000 })).toEqual({
      compact: true,
      reason: "over-limit",
      limit: { limitTokens: 6_553, source: "max_tokens" },
      contextTokens: 7_000,
      keepRecentTokens: 3_276,
    });
  });

  it("uses the threshold of the model", () => {
    const settings = { ...defaults, thresholds: { "acme/large": { percent: 50 } } };
    const model = { provider: "acme", id: "large" };
    expect(ask({ settings, model, contextTokens: 100_000 })).toMatchObject({
      compact: true,
      limit: { source: "threshold" },
    });
    expect(ask({ settings, contextTokens: 100_000 }).compact).toBe(false);
  });

  it("a person may compact at any time, also with auto off", () => {
    expect(ask({ settings: { ...defaults, autoCompact: false }, demand: "manual" })).toMatchObject({
      compact: true,
      reason: "manual",
    });
  });

  it("a recovery does not wait for the estimate, but auto off stops it", () => {
    expect(ask({ demand: "recovery" })).toMatchObject({ compact: true, reason: "recovery" });
    expect(ask({ demand: "recovery", settings: { ...defaults, autoCompact: false } })).toMatchObject({
      compact: false,
      reason: "auto-off",
    });
  });

  it("the same situation gives the same answer after a turn and before a call", () => {
    const situation = { contextTokens: 190_000, turn: 4 };
    expect(ask(situation)).toEqual(ask(situation));
  });
});

describe("the state of the trigger", () => {
  const limit = { limitTokens: 100_000 };

  it("an estimate from before the compaction does not trigger again", () => {
    const { state } = afterCompaction(FRESH_TRIGGER, {
      turn: 3,
      tokensBefore: 190_000,
      tokensAfter: 30_000,
      limit,
    });
    expect(ask({ contextTokens: 190_000, contextEpoch: 0, state, turn: 4 })).toMatchObject({
      compact: false,
      reason: "stale-estimate",
    });
    expect(ask({ contextTokens: 190_000, contextEpoch: 1, state, turn: 4 })).toMatchObject({
      compact: true,
      reason: "over-limit",
    });
  });

  it("one that freed less than 10 % of the limit rests for three turns and warns", () => {
    const { state, warning } = afterCompaction(FRESH_TRIGGER, {
      turn: 3,
      tokensBefore: 195_000,
      tokensAfter: 185_001,
      limit,
    });
    expect(warning).toEqual({
      type: "compaction-gained-little",
      freedTokens: 9_999,
      limitTokens: 100_000,
      coolDownThroughTurn: 6,
    });
    const over = { contextTokens: 190_000, contextEpoch: 1, state };
    for (const turn of [3, 4, 5, 6])
      expect(ask({ ...over, turn })).toMatchObject({ compact: false, reason: "cooling-down" });
    expect(ask({ ...over, turn: 7 }).compact).toBe(true);
    expect(ask({ ...over, turn: 4, demand: "recovery" }).compact).toBe(true);
    expect(ask({ ...over, turn: 4, demand: "manual" }).compact).toBe(true);
  });

  it("one that freed exactly 10 % does not rest", () => {
    const update = afterCompaction(FRESH_TRIGGER, {
      turn: 3,
      tokensBefore: 195_000,
      tokensAfter: 185_000,
      limit,
    });
    expect(update).toEqual({ state: { epoch: 1 } });
  });

  it("one that made the context larger rests as well, and a good one ends the rest", () => {
    const grown = afterCompaction(FRESH_TRIGGER, { turn: 1, tokensBefore: 10, tokensAfter: 20, limit });
    expect(grown.state.coolDownThroughTurn).toBe(4);
    const good = afterCompaction(grown.state, { turn: 2, tokensBefore: 90_000, tokensAfter: 10_000, limit });
    expect(good.state).toEqual({ epoch: 2 });
  });
});
