import { readFileSync } from "node:fs";
import { default as fc } from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { anyOpenCodeMessages } from "../../test/rig/random-history/lower-to-opencode.ts";
import { runs } from "../../test/rig/runs.ts";
import type { SessionMessage } from "../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { ConfigurationError } from "../text/check.ts";
import { isCleared, toolResults } from "../transcript/content.ts";
import { applyEdits, runStages } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { CLEARED_PLACEHOLDER, type Part, type ToolPart } from "../transcript/part.ts";
import { filterCompacted, startOfNewestTurns } from "./boundary.ts";
import {
  PRUNE_MINIMUM,
  PRUNE_PROTECT,
  PRUNE_PROTECTED_TOOLS,
  type PruneOptions,
  prune,
  pruneStage,
} from "./prune.ts";
import { restore } from "./restore.ts";

const read = (notation: string) => deepFreeze(transcript(notation));

const handles = (messages: Transcript, options?: PruneOptions) =>
  prune(messages, options).candidates.map(({ handle }) => handle);

/** Thresholds small enough to read, with the same meaning. */
const SMALL = { protectTokens: 100, minimumTokens: 50 };

function withParts(messages: Transcript, change: (part: ToolPart, message: Message) => Part): Transcript {
  return messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) => (part.type === "tool" ? change(part, message) : part)),
  }));
}

describe("prune", () => {
  it("has the documented numbers", () => {
    expect([PRUNE_MINIMUM, PRUNE_PROTECT, PRUNE_PROTECTED_TOOLS]).toEqual([20_000, 40_000, ["skill"]]);
  });

  it.each([
    { name: "keeps 40,000 tokens", outputs: "read:80004,read:160000", cleared: "read~80004,read:160000" },
    {
      name: "clears the output that crosses 40,000 tokens",
      outputs: "read:160004",
      cleared: "read~160004",
    },
    {
      name: "leaves all alone when only 20,000 tokens could go",
      outputs: "read:80000,read:160000",
      cleared: "read:80000,read:160000",
    },
    {
      name: "rounds to the nearest token: 80,001 characters are still 20,000",
      outputs: "read:80001,read:160000",
      cleared: "read:80001,read:160000",
    },
    {
      name: "rounds to the nearest token: 80,002 characters are 20,001",
      outputs: "read:80002,read:160000",
      cleared: "read~80002,read:160000",
    },
    {
      name: "adds up the small ones",
      outputs: "read:40000,read:40000,read:4,read:160000",
      cleared: "read:40000,read:40000,read:4,read:160000",
    },
  ])("$name", ({ outputs, cleared }) => {
    const { transcript: after } = runStages(read(`u a(${outputs}) u a u`), [pruneStage()], { at: 7 });
    expect(notate(after)).toBe(`u a(${cleared}) u a u`);
  });

  it.each([
    {
      name: "protects the newest two turns",
      before: "u a(read:800) u a(read:800) u a(read:800)",
      candidates: ["m2/0"],
      stoppedBy: "start",
    },
    {
      name: "needs two turns",
      before: "a(read:800,read:800) u a(read:800)",
      candidates: [],
      stoppedBy: "guard",
    },
    {
      name: "counts a marker as a turn",
      before: "u a(read:800) u m",
      candidates: ["m2/0"],
      stoppedBy: "start",
    },
    {
      name: "stops at a summary, also one that never got finished",
      before: "u a(read:800) s u a(read:800) u u",
      candidates: ["m5/0"],
      stoppedBy: "summary",
    },
    {
      name: "stops at what was cleared before",
      before: "u a(read:800) a(read~800) a(read:800) u u",
      candidates: ["m4/0"],
      stoppedBy: "cleared",
    },
    {
      name: "passes protected tools, cleared or not, whatever their case",
      before: "u a(read:800) a(Skill~800) a(SKILL:800) u u",
      candidates: ["m2/0"],
      stoppedBy: "start",
    },
    {
      name: "passes errors and calls without a result",
      before: "u a(read:800) a(read!800) a(read?) u u",
      candidates: ["m2/0"],
      stoppedBy: "start",
    },
    {
      name: "takes parallel calls from the last to the first",
      before: "u a(read:800,grep:800,read:400) u u",
      candidates: ["m2/1", "m2/0"],
      stoppedBy: "start",
    },
    { name: "is nothing on nothing", before: "", candidates: [], stoppedBy: "guard" },
  ])("$name", ({ before, candidates, stoppedBy }) => {
    const plan = prune(read(before), SMALL);
    expect(plan.candidates.map(({ handle }) => handle)).toEqual(candidates);
    expect(plan.stoppedBy).toBe(stoppedBy);
    expect(plan.applied).toBe(plan.prunedTokens > 50);
  });

  it("shows what it would do without doing it", () => {
    const messages = read("u a(read:120,grep:400) u u");
    expect(prune(messages, { protectTokens: 0, minimumTokens: 500 })).toEqual({
      applied: false,
      edits: [],
      candidates: [
        {
          messageId: "m2",
          partIndex: 1,
          handle: "m2/1",
          callId: "m2-call-2",
          tool: "grep",
          tokens: 100,
          chars: 400,
        },
        {
          messageId: "m2",
          partIndex: 0,
          handle: "m2/0",
          callId: "m2-call-1",
          tool: "read",
          tokens: 30,
          chars: 120,
        },
      ],
      prunedTokens: 130,
      totalTokens: 130,
      stoppedBy: "start",
    });
  });

  it("says in each edit why, how much and where to recall it", () => {
    expect(prune(read("u a(read:800) u u"), SMALL).edits).toEqual([
      {
        type: "hide-part",
        what: "output",
        messageId: "m2",
        partIndex: 0,
        stage: "prune",
        reason: "pruned",
        omitted: { chars: 800, handle: "m2/0" },
      },
    ]);
  });

  it("with nothing to protect takes every output longer than the placeholder", () => {
    const { length } = CLEARED_PLACEHOLDER;
    const messages = read(`u a(read:${length + 1},read:${length},read:0) u u`);
    expect(handles(messages, { protectTokens: 0 })).toEqual(["m2/0"]);
  });

  it("leaves the turns alone that it is told to", () => {
    const messages = read("u a(read:800) u a(read:800) u a(read:800)");
    expect(handles(messages, { ...SMALL, protectTurns: 0 })).toEqual(["m6/0", "m4/0", "m2/0"]);
    expect(handles(messages, { ...SMALL, protectTurns: 3 })).toEqual([]);
  });

  it("counts in the caller's tokens when told how", () => {
    const messages = read("u a(read:800) u u");
    expect(prune(messages, { estimate: { estimator: () => 50_000 } }).prunedTokens).toBe(50_000);
  });

  it("measures each output once, and none beyond where it stops", () => {
    const asked: number[] = [];
    const estimator = (text: string) => asked.push(text.length);
    prune(read("u a(read:1) a(read:2) a(read~3) a(read:4,skill:5,read!6) u a(read:7) u"), {
      estimate: { estimator },
    });
    prune(read("u a(read:8,read:9) u u"), { estimate: { estimator } });
    expect(asked).toEqual([4, 9, 8]);
  });

  it("ignores what is hidden, message or part", () => {
    const messages = read("u a(read:800,grep:800) a(read:800) u u");
    const hidden = applyEdits(
      messages,
      [
        { type: "hide-part", messageId: "m2", partIndex: 1, what: "part", stage: "test", reason: "test" },
        { type: "hide-message", messageId: "m3", stage: "test", reason: "test" },
        { type: "hide-message", messageId: "m4", stage: "test", reason: "test" },
      ],
      { at: 1 },
    );
    expect(prune(deepFreeze(hidden), { ...SMALL, protectTurns: 1 })).toMatchObject({
      candidates: [{ handle: "m2/0" }],
      totalTokens: 200,
    });
    expect(prune(hidden, SMALL)).toMatchObject({ candidates: [], stoppedBy: "guard" });
  });

  it.each([
    [{ protectTokens: -1, minimumTokens: Number.NaN, protectTurns: Number.POSITIVE_INFINITY }, 3],
    [{ protectTokens: Number.POSITIVE_INFINITY }, 1],
  ] as const)("refuses %o and names every problem", (options, problems) => {
    for (const act of [() => prune([], options), () => pruneStage(options)]) {
      try {
        act();
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigurationError);
        expect((error as ConfigurationError).problems).toHaveLength(problems);
      }
    }
  });

  it("takes zero as a threshold", () => {
    expect(prune(read("u a(read:800) u u"), { protectTokens: 0, minimumTokens: 0 }).applied).toBe(true);
  });
});

describe("prune after a compaction", () => {
  const withTail = (tailStartId: string, notation: string): Transcript =>
    deepFreeze(
      transcript(notation).map((message) => ({
        ...message,
        parts: message.parts.map((part) => (part.type === "compaction" ? { ...part, tailStartId } : part)),
      })),
    );

  it("never looks behind the compaction, even while the summary is among the newest turns", () => {
    const messages = read("u a(read:800) u a(read:800) m s:9 u");
    expect(prune(messages, { ...SMALL, protectTurns: 1 })).toMatchObject({ candidates: [], totalTokens: 0 });
    expect(prune(messages, SMALL)).toMatchObject({ candidates: [], totalTokens: 0, stoppedBy: "guard" });
  });

  it("counts and clears the retained tail, which is sent behind the summary", () => {
    const messages = withTail("m3", "u a(read:800) u a(read:800) m s:9 u a(read:400) u u");
    expect(prune(messages, SMALL)).toMatchObject({ candidates: [{ handle: "m4/0" }], stoppedBy: "summary" });
  });

  it("does not let outputs that are no longer sent use up the protected tokens", () => {
    const messages = read("u a(read:8000) m s:9 u a(read:400) u u");
    expect(prune(messages, SMALL)).toMatchObject({ candidates: [], totalTokens: 100, stoppedBy: "summary" });
  });
});

describe("against what OpenCode itself pruned", () => {
  const recording = JSON.parse(readFileSync("test/recordings/opencode/pruned.json", "utf8")) as {
    readonly messages: readonly SessionMessage[];
  };
  const stored = opencode.decode(recording.messages);
  const prunedByOpenCode = toolResults(stored).filter(({ part }) => part.clearedAt !== undefined);
  const prunedAt = Math.min(...prunedByOpenCode.map(({ part }) => part.clearedAt ?? Number.NaN));
  const unpruned = withParts(stored, ({ clearedAt: _, ...part }) => part);
  const whenItPruned = unpruned.filter(({ createdAt = 0 }) => createdAt < prunedAt);

  it("chooses exactly the same outputs", () => {
    expect(prunedByOpenCode).toHaveLength(2);
    const plan = prune(deepFreeze(whenItPruned));
    expect(plan.applied).toBe(true);
    expect(new Set(plan.candidates.map(({ callId }) => callId))).toEqual(
      new Set(prunedByOpenCode.map(({ part }) => part.callId)),
    );
  });

  it("prunes nothing in any turn before that one", () => {
    const turnStarts = whenItPruned.flatMap(({ role }, index) => (role === "user" ? [index] : []));
    const lastTurn = turnStarts.at(-1) ?? 0;
    for (let end = 0; end <= lastTurn; end++) expect(prune(whenItPruned.slice(0, end)).applied).toBe(false);
    expect(turnStarts.length).toBeGreaterThan(2);
  });

  it("prunes nothing more in what OpenCode has pruned", () => {
    expect(prune(stored)).toMatchObject({ candidates: [], applied: false, stoppedBy: "cleared" });
  });

  it("writes the same mark into the messages, and takes it off again", () => {
    const names = prunedByOpenCode.map(({ part }) => part.callId);
    const restored = opencode.apply(recording.messages, restore(stored, names), { at: 1 });
    expect(JSON.stringify(restored)).not.toContain('"compacted"');
    const upToThen = restored.slice(0, whenItPruned.length);
    const again = opencode.apply(upToThen, prune(opencode.decode(upToThen)).edits, { at: prunedAt });
    const marks = (messages: readonly SessionMessage[]) =>
      opencode
        .decode(messages)
        .map((message) => message.parts.map((part) => part.type === "tool" && isCleared(part)));
    expect(marks(again)).toEqual(marks(recording.messages.slice(0, whenItPruned.length)));
  });
});

describe("prune on any history", () => {
  const options = fc.record({
    protectTokens: fc.integer({ min: 0, max: 3_000 }),
    minimumTokens: fc.integer({ min: 0, max: 500 }),
    protectTurns: fc.integer({ min: 0, max: 3 }),
  });

  it("touches only whole, unprotected outputs that are sent, and breaks nothing", () => {
    fc.assert(
      fc.property(anyOpenCodeMessages, options, (history, settings) => {
        const messages = deepFreeze(opencode.decode(history));
        const plan = prune(messages, settings);
        const window = filterCompacted(messages);
        const guarded = new Set(
          window.slice(startOfNewestTurns(window, settings.protectTurns)).map(({ id }) => id),
        );
        const sent = new Map(window.map((message) => [message.id, message]));
        for (const { messageId, partIndex, tool, tokens } of plan.candidates) {
          const part = sent.get(messageId)?.parts[partIndex] as ToolPart;
          expect(part.outcome.status).toBe("done");
          expect(isCleared(part)).toBe(false);
          expect(tool.toLowerCase()).not.toBe("skill");
          expect(guarded.has(messageId)).toBe(false);
          expect(tokens).toBeGreaterThan(CLEARED_PLACEHOLDER.length / 4 - 1);
        }
        expect(plan.prunedTokens).toBe(plan.candidates.reduce((sum, { tokens }) => sum + tokens, 0));
        expect(plan.totalTokens).toBeGreaterThanOrEqual(plan.prunedTokens);
        expect(plan.applied).toBe(plan.prunedTokens > settings.minimumTokens);

        const after = applyEdits(messages, plan.edits, { at: 5 });
        expect(findFaults(after)).toEqual(findFaults(messages));
        expect(prune(messages, settings)).toEqual(plan);
        expect(prune(after, settings).edits).toEqual([]);
        const names = plan.candidates.map(({ handle }) => handle);
        expect(applyEdits(after, restore(after, names), { at: 6 })).toEqual(messages);
      }),
      { numRuns: runs(300) },
    );
  });
});
