import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyHistory } from "../../test/rig/random-history/opencode-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { deepFreeze, transcript } from "../testing/notation.ts";
import type { ToolPart } from "../transcript/part.ts";
import { formatMessagesAsContext } from "./context/format.ts";
import type { ForkOptions, ForkProfile } from "./context/options.ts";
import { buildForkPreamble } from "./context/preamble.ts";
import { forkContext, processMessagesForFork, uncutStats } from "./fork.ts";

const inTwoSteps = (messages: Parameters<typeof forkContext>[0], options: ForkOptions) => {
  const result = processMessagesForFork(messages, { profile: "default", ...options });
  return { ...result, ...formatMessagesAsContext(result.messages, result.stats, options) };
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
      fc.property(anyHistory, anyOptions, (history, options) => {
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
      fc.property(anyHistory, (history) => {
        const decoded = deepFreeze(opencode.decode(history));
        const { applied: _, ...stats } = processMessagesForFork(decoded, { budgetChars: all, limits }).stats;
        expect(uncutStats(decoded)).toEqual(stats);
      }),
      { numRuns: runs(300) },
    );
  });
});
