import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyHistory } from "../../test/rig/random-history/opencode-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { deepFreeze, transcript } from "../testing/notation.ts";
import type { ToolPart } from "../transcript/part.ts";
import { formatMessagesAsContext } from "./context/format.ts";
import type { ForkOptions, ForkProfile } from "./context/options.ts";
import { forkContext, processMessagesForFork } from "./fork.ts";

const inTwoSteps = (messages: Parameters<typeof forkContext>[0], options: ForkOptions) => {
  const result = processMessagesForFork(messages, options);
  return { ...result, ...formatMessagesAsContext(result.messages, result.stats, options) };
};

describe("forkContext", () => {
  it.each([
    { name: "everything fits", options: {} },
    { name: "messages go", options: { budgetChars: 2_000, sessionId: "ses_1" } },
    { name: "lines are chosen", options: { budgetChars: 2_000, profile: "fill" } },
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
        profile: fc.constantFrom<ForkProfile>("fixed", "fill"),
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
    expect(forkContext(history, { profile: "fill" }).text).toContain('"written 1"');
    expect(writes).toBe(1);
  });
});
