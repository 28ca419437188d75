import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../../test/rig/notation.ts";
import { anyOpenCodeMessages } from "../../../test/rig/random-history/lower-to-opencode.ts";
import { runs } from "../../../test/rig/runs.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import { redactTranscript } from "../../stages/redact.ts";
import type { Message } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import {
  applyGraduatedTruncation,
  forkContext,
  forkFiles,
  processMessagesForFork,
  sliceFromCompactionBoundary,
  uncutStats,
} from "../fork.ts";
import { buildForkPreamble, formatMessagesAsContext } from "./format.ts";
import { type ForkOptions, type ForkProfile, readForkOptions } from "./options.ts";

function read(id: string, output: string): Message {
  const outcome = { status: "done", output, attachments: [] } as const;
  return {
    id,
    role: "assistant",
    parts: [{ type: "tool", callId: id, tool: "read", input: { path: "a.ts" }, outcome }],
  };
}

function statsOf(notation: string, options: ForkOptions = {}) {
  return processMessagesForFork(deepFreeze(transcript(notation)), options).stats;
}

describe("processMessagesForFork", () => {
  it.each([
    { before: "u:3 a:3", detected: false, index: -1 },
    { before: "m s:3", detected: true, index: 1 },
    { before: "u:3 m s:3 u:3", detected: true, index: 2 },
  ])("of $before a summary is found: $detected, at $index", ({ before, detected, index }) => {
    expect(statsOf(before)).toMatchObject({ compactionDetected: detected, compactionSliceIndex: index });
  });

  it("keeps secrets for the same provider, and redacts them when asked", () => {
    const secret = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
    const history = [read("r", `token ${secret}`)];
    expect(JSON.stringify(processMessagesForFork(history).messages)).toContain(secret);
    expect(
      JSON.stringify(processMessagesForFork(history, { redact: redactTranscript() }).messages),
    ).not.toContain(secret);
  });

  it("leaves open calls of the tools behind that it is told are its own", () => {
    const history = transcript("u:3 a(launch?,bash?)");
    expect(notate(processMessagesForFork(history, { ownTools: ["launch"] }).messages)).toBe("u:3 a(bash?)");
  });

  it("names the limits that it applied, and the profile only where lines are chosen", () => {
    expect(statsOf("u:3").applied).toEqual({ tier2Chars: 3_000, tier3Chars: 500, budgetChars: 200_000 });
    expect(statsOf("u:3", { profile: "default" }).applied).toHaveProperty("profile", "default");
  });

  it("is not over its budget because old results were cut, or because it could have chosen lines", () => {
    expect(statsOf(Array(20).fill("a(read:5000)").join(" "))).toMatchObject({
      budgetZone: "under",
      oversizeTruncated: 0,
      removedMessages: 0,
    });
    expect(statsOf("u:3 a(read:9)", { profile: "default" }).budgetZone).toBe("under");
  });

  it("counts the results before the budget as well when messages had to go", () => {
    const history = Array.from({ length: 30 }, (_, number) =>
      read(`a${number}`, `line ${number} of one${number}\n`.repeat(20)),
    );
    for (const profile of ["documented", "default"] as const) {
      const { messages, stats } = processMessagesForFork(history, { profile, budgetChars: 2_000 });
      const { tierDistribution, tierDistributionBeforeBudget, removedMessages } = stats;
      expect(removedMessages).toBe(history.length - messages.length);
      expect(removedMessages).toBeGreaterThan(0);
      expect(tierDistributionBeforeBudget).toEqual({ tier1: 5, tier2: 10, tier3: 15 });
      expect(tierDistribution.tier3).toBeLessThan(15);
    }
  });

  it("hides what does not fit as it is, without cutting it first", () => {
    const history = Array.from({ length: 30 }, (_, number) =>
      read(`a${number}`, `line ${number}\n`.repeat(900)),
    );
    const { edits } = processMessagesForFork(deepFreeze(history), { budgetChars: 20_000 });
    const hidden = edits.filter(({ type }) => type === "hide-message");
    expect(hidden.length).toBeGreaterThan(0);
    for (const { omitted } of hidden) {
      expect(omitted?.chars).toBeGreaterThan(6_000);
      expect(edits.filter((edit) => edit.omitted?.handle === `${omitted?.handle}/0`)).toEqual([]);
    }
  });

  it("cuts a result that stays with a summary by its age among all results, not among those that are left", () => {
    const summary: Message = { ...read("s", "old\n".repeat(1_000)), summary: true, finish: "stop" };
    const newer = Array.from({ length: 30 }, (_, number) =>
      read(`a${number}`, `line ${number}\n`.repeat(99)),
    );
    const { messages } = processMessagesForFork(deepFreeze([summary, ...newer]), { budgetChars: 6_000 });
    expect(messages.length).toBeLessThan(15);
    expect(messages[0]).toMatchObject({ id: "s", parts: [{ cut: { limitChars: 500 } }] });
  });
});

describe("the functions of the founding documents", () => {
  it("sliceFromCompactionBoundary keeps the newest summary and what follows", () => {
    expect(sliceFromCompactionBoundary(transcript("u:1 m s:2 u:3 m s:4 u:5")).map(({ id }) => id)).toEqual([
      "m6",
      "m7",
    ]);
    const whole = transcript("u:1 a:2");
    expect(sliceFromCompactionBoundary(whole)).toEqual(whole);
  });

  it("applyGraduatedTruncation cuts by age, to the documented limits or others", () => {
    const history = transcript("a(read:400) a(read:400)");
    expect(notate(applyGraduatedTruncation(history))).toBe("a(read:400) a(read:400)");
    const limits = {
      tier1Count: 1,
      tier2Count: 0,
      resultChars: { 1: 900, 2: 900, 3: 100 },
      paramsChars: { 1: 9, 2: 9, 3: 9 },
    };
    expect(notate(applyGraduatedTruncation(history, limits))).toMatch(/^a\(read:1\d\d\) a\(read:400\)$/);
  });
});

describe("readForkOptions", () => {
  it("takes limits of zero, and names what is less", () => {
    const none = { 1: 0, 2: 0, 3: 0 } as const;
    const limits = { tier1Count: 0, tier2Count: 0, resultChars: none, paramsChars: none };
    expect(readForkOptions({ profile: "documented", limits, budgetChars: 512 }).limits).toBe(limits);
    expect(() =>
      readForkOptions({ limits: { ...limits, paramsChars: { ...none, 3: -1 } } }, "documented"),
    ).toThrow("limits.paramsChars.3 is -1");
    expect(() => readForkOptions({ limits, neverCutTools: ["a"] })).toThrow(
      /limits is not an option; give profile "documented".*neverCutTools is not an option; give profile "documented"/,
    );
    expect(() => readForkOptions({ budgetChars: 511 })).toThrow("budgetChars is 511");
  });

  it("keeps what was cleared and what is secret as it is, unless told otherwise", () => {
    expect(readForkOptions({})).toMatchObject({
      profile: "default",
      pruned: "placeholder",
    });
    expect(readForkOptions({}).redact).toBeUndefined();
  });
});

const inTwoSteps = (messages: Parameters<typeof forkContext>[0], options: ForkOptions) => {
  const result = processMessagesForFork(messages, { profile: "default", ...options });
  const formatted = formatMessagesAsContext(result.messages, result.stats, options);
  return {
    ...result,
    ...formatted,
    preamble: buildForkPreamble(formatted.stats, {
      files: forkFiles(messages, { ...options, stats: formatted.stats }),
    }),
  };
};

describe("forkContext", () => {
  it.each([
    { name: "everything fits", options: {} },
    { name: "messages go", options: { budgetChars: 2_000, sessionId: "ses_1" } },
    { name: "results are cut by age", options: { budgetChars: 2_000, profile: "documented" } },
    { name: "a text is shortened", options: { budgetChars: 512 } },
  ] as const)("gives what the two steps give where $name", ({ options }) => {
    const history = deepFreeze(transcript("u:30 a(read:900) a(edit:40,bash:700) u:20 a(read:800) a:60"));
    expect(forkContext(history, options)).toEqual(inTwoSteps(history, options));
  });

  it("gives what the two steps give for any history", () => {
    const anyOptions = fc.record(
      {
        budgetChars: fc.integer({ min: 512, max: 20_000 }),
        sessionId: fc.string(),
        profile: fc.constantFrom<ForkProfile>("documented", "default"),
      },
      { requiredKeys: ["budgetChars"] },
    );
    fc.assert(
      fc.property(anyOpenCodeMessages, anyOptions, (history, options) => {
        const decoded = deepFreeze(opencode.decode(history));
        expect(forkContext(decoded, options)).toEqual(inTwoSteps(decoded, options));
      }),
      { numRuns: runs(300) },
    );
  });

  it("writes the input of a call once", () => {
    let writes = 0;
    const input = { toJSON: () => `written ${++writes}` };
    const outcome = { status: "done", output: "out", attachments: [] } as const;
    const call: ToolPart = { type: "tool", callId: "c", tool: "other", input, outcome };
    const history = [{ id: "m", role: "assistant", parts: [call] }];
    expect(forkContext(history).text).toContain('"written 1"');
    expect(writes).toBe(1);
  });
});

describe("uncutStats", () => {
  it("counts everything and nothing as left out, however long it is", () => {
    const stats = uncutStats(transcript("u:10 a(bash:900000) a(read:900000) u:5 a:20"));
    expect(stats).toMatchObject({ finalCount: 5, truncatedResults: 0, removedMessages: 0 });
    expect(stats.applied).toBeUndefined();
    expect(buildForkPreamble(stats)).not.toContain("budget");
  });

  it("counts what the pipeline counts when it has no limits", () => {
    const all = Number.POSITIVE_INFINITY;
    const each = { 1: all, 2: all, 3: all };
    const limits = { tier1Count: all, tier2Count: 0, resultChars: each, paramsChars: each };
    fc.assert(
      fc.property(anyOpenCodeMessages, (history) => {
        const decoded = deepFreeze(opencode.decode(history));
        const { applied: _, ...stats } = processMessagesForFork(decoded, { budgetChars: all, limits }).stats;
        expect(uncutStats(decoded)).toEqual(stats);
      }),
      { numRuns: runs(300) },
    );
  });
});
