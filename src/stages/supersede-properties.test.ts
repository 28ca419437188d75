import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { anyOpenCodeMessages } from "../../test/rig/random-history/lower-to-opencode.ts";
import { runs } from "../../test/rig/runs.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { toolResults } from "../transcript/content.ts";
import { applyEdits, type ReplacePart, runStages } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import { filterCompacted, startOfNewestTurns } from "./boundary.ts";
import { supersede } from "./supersede.ts";

const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index} ${"x".repeat(60)}`).join("\n");

describe("supersede on any history", () => {
  const paths = fc.constantFrom("a.ts", "./a.ts", "b.ts");
  const texts = fc.constantFrom(lines(3), lines(3), lines(6), lines(9), "");
  const calls = fc.oneof(
    fc.record({
      tool: fc.constantFrom("read", "Read"),
      path: paths,
      offset: fc.nat(9),
      limit: fc.nat(9),
      text: texts,
    }),
    fc.record({
      tool: fc.constantFrom("write", "edit", "bash", "skill"),
      path: paths,
      content: texts,
      text: texts,
    }),
  );
  const sessions = fc.array(
    fc.record({
      call: calls,
      status: fc.constantFrom("done", "done", "failed", "pending"),
      asks: fc.boolean(),
    }),
    { maxLength: 30, size: "max" },
  );
  const builtSession = sessions.map(
    (steps): Transcript =>
      steps.map(
        ({ call: { tool, text, ...input }, status, asks }, index): Message => ({
          id: `m${index}`,
          role: asks ? "user" : "assistant",
          parts: [
            {
              type: "tool",
              callId: `c${index}`,
              tool,
              input,
              outcome:
                status === "done"
                  ? { status, output: text, attachments: [] }
                  : status === "failed"
                    ? { status, error: text }
                    : { status: "pending" },
            },
          ],
        }),
      ),
  );
  const anySession = fc.oneof(
    builtSession,
    anyOpenCodeMessages.map((history) => opencode.decode(history)),
  );

  it("only shortens, outside the newest turns, and breaks nothing", () => {
    fc.assert(
      fc.property(anySession, fc.integer({ min: 0, max: 3 }), (history, protectTurns) => {
        const messages = deepFreeze(history);
        const stage = supersede({ protectTurns });
        const edits = stage(messages);
        const window = filterCompacted(messages);
        const open = new Map(
          window.slice(0, startOfNewestTurns(window, protectTurns)).map((each) => [each.id, each]),
        );
        for (const edit of edits) {
          const { messageId, partIndex, part } = edit as ReplacePart;
          const before = open.get(messageId)?.parts[partIndex] as ToolPart;
          const after = part as ToolPart;
          expect(before.tool.toLowerCase()).not.toBe("skill");
          expect(after.outcome.status).toBe(before.outcome.status);
          expect(JSON.stringify([after.input, after.outcome]).length).toBeLessThan(
            JSON.stringify([before.input, before.outcome]).length,
          );
          expect(edit.omitted?.chars).toBeGreaterThan(0);
        }
        const after = applyEdits(messages, edits, { at: 5 });
        expect(findFaults(after)).toEqual(findFaults(messages));
        expect(stage(messages)).toEqual(edits);
        expect(stage(after)).toEqual([]);
      }),
      { numRuns: runs(500) },
    );
  });

  it("names only results that are still whole", () => {
    fc.assert(
      fc.property(builtSession, (history) => {
        const { transcript, edits } = runStages(history, [supersede({ protectTurns: 0 })]);
        const whole = new Set(
          toolResults(transcript)
            .filter(({ part }) => part.cut === undefined || part.tool === "write" || part.tool === "edit")
            .map(({ message, partIndex }) => `${message.id}/${partIndex}`),
        );
        for (const edit of edits) {
          const json = edit.type === "replace-part" ? JSON.stringify(edit.part) : "";
          for (const [, handle = ""] of json.matchAll(/superseded by (\S+):/g))
            expect(whole).toContain(handle);
        }
      }),
    );
  });
});
