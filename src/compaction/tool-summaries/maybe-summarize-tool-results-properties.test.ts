import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { anyOpenCodeMessages } from "../../../test/rig/random-history/lower-to-opencode.ts";
import { runs } from "../../../test/rig/runs.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { repairPairing } from "../../stages/repair.ts";
import { isCleared } from "../../transcript/content.ts";
import { applyEdits, type Edit, type Handle } from "../../transcript/edit.ts";
import { findFaults } from "../../transcript/format.ts";
import { isVisibleToModel, type Message, project, type Transcript } from "../../transcript/message.ts";
import type { Clock, Summarizer } from "../ports/summarizer.ts";
import { maybeSummarizeToolResults, type SummarizedToolResults } from "./maybe-summarize-tool-results.ts";
import { planToolSummaries, type ToolSummarySettings } from "./plan-tool-summaries.ts";

const at = 5;
const signal = new AbortController().signal;
/** Time never passes. */
const clock: Clock = {
  now: () => at,
  sleep: (_, stop) => new Promise((resolve) => stop.addEventListener("abort", () => resolve())),
};
/** Deterministic: what it answers depends on the question alone, and sometimes it fails. */
const summarizer: Summarizer = {
  summarize: async ({ prompt }) => {
    if (prompt.length % 5 === 0) throw new Error("no");
    return prompt.length % 7 === 0 ? "" : `about ${prompt.length} </tool_summary> \ud800 chars`;
  },
};

const anySettings: fc.Arbitrary<ToolSummarySettings> = fc.record({
  toolCallCutoff: fc.integer({ min: 0, max: 4 }),
  toolSummaryStrategy: fc.constantFrom("llm", "llm", "heuristic", "off", ""),
  mode: fc.constantFrom("sync", "background"),
});

/** Calls again, as a loop does, until nothing is pending. */
async function runToTheEnd(before: Transcript, settings: ToolSummarySettings): Promise<readonly Edit[]> {
  const edits: Edit[] = [];
  let current = before;
  let pending: SummarizedToolResults["pending"] = [];
  do {
    const result = await maybeSummarizeToolResults(current, { settings, summarizer, clock, signal, pending });
    edits.push(...result.edits);
    current = applyEdits(current, result.edits, { at });
    pending = result.pending;
    await new Promise((resolve) => setImmediate(resolve));
  } while (pending.length > 0);
  return edits;
}

/** Written again from the requirement, without the code under test: counted results, and which of them were seen. */
function expectedResults(
  transcript: Transcript,
): readonly { readonly handle: Handle; readonly isSeen: boolean }[] {
  const window = filterCompacted(transcript);
  const found: { handle: Handle; isSeen: boolean }[] = [];
  const calls = new Set<string>();
  for (const [index, message] of window.entries()) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (!isVisibleToModel(message) || part.type !== "tool" || part.outcome.status === "pending") continue;
      if (part.callMissing || calls.has(part.callId)) continue;
      calls.add(part.callId);
      if (isCleared(part) || /skill|question/i.test(part.tool)) continue;
      found.push({ handle: `${message.id}/${partIndex}`, isSeen: window.slice(index + 1).some(isAnswer) });
    }
  }
  return found;
}

function isAnswer({ role, summary, parts }: Message): boolean {
  const says = parts.some((part) => part.type === "tool" || ("text" in part && part.text.trim() !== ""));
  return role === "assistant" && !summary && says;
}

const archivedHandles = (edits: readonly Edit[]): readonly (Handle | undefined)[] =>
  edits.filter((edit) => edit.type === "replace-part").map((edit) => edit.omitted?.handle);

const forAnyHistory = (
  check: (wire: Parameters<typeof opencode.decode>[0], settings: ToolSummarySettings) => Promise<void>,
) =>
  fc.assert(
    fc.asyncProperty(anyOpenCodeMessages, anySettings, (wire, settings) =>
      check(deepFreeze(JSON.parse(JSON.stringify(wire))), settings),
    ),
    { numRuns: runs(500) },
  );

describe("maybeSummarizeToolResults on any history", () => {
  it("archives exactly the oldest seen results, down to the cutoff and never below", async () => {
    let archivedSomething = 0;
    await forAnyHistory(async (wire, settings) => {
      const before = deepFreeze(opencode.decode(wire));
      const edits = await runToTheEnd(before, settings);
      const results = expectedResults(before);
      const isOff = settings.toolCallCutoff === 0 || settings.toolSummaryStrategy === "off";
      const need = isOff ? 0 : Math.max(0, results.length - settings.toolCallCutoff);
      const seen = results.filter((result) => result.isSeen).map((result) => result.handle);
      expect(archivedHandles(edits)).toEqual(seen.slice(0, need));
      const after = planToolSummaries(applyEdits(before, edits, { at }), settings).visibleResults;
      expect(after).toBe(results.length - Math.min(need, seen.length));
      if (seen.length > 0 && need > 0) archivedSomething++;
    });
    expect(archivedSomething).toBeGreaterThanOrEqual(Math.floor(runs(500) * 0.06));
  });

  it("gives the same edits for the same input, and none when it is called again", async () => {
    await forAnyHistory(async (wire, settings) => {
      const before = deepFreeze(opencode.decode(wire));
      const edits = await runToTheEnd(before, settings);
      expect(await runToTheEnd(opencode.decode(wire), settings)).toEqual(edits);
      expect(await runToTheEnd(applyEdits(before, edits, { at }), settings)).toEqual([]);
    });
  });

  it("leaves no fault after the repair, and brings none of its own", async () => {
    await forAnyHistory(async (wire, settings) => {
      const before = opencode.decode(wire);
      const edits = await runToTheEnd(before, settings);
      const after = applyEdits(before, edits, { at });
      const repaired = applyEdits(after, repairPairing(after), { at });
      expect(findFaults(repaired)).toEqual([]);
      expect(findFaults(after).length).toBeLessThanOrEqual(findFaults(before).length);
      expect(opencode.faults(opencode.apply(wire, [...edits, ...repairPairing(after)], { at }))).toEqual([]);
    });
  });

  it("means the same on the wire of a host as in the transcript", async () => {
    const view = (messages: Transcript) =>
      project(messages).map((message, index) => ({
        ...message,
        id: `${index}`,
        // About the form of the wire, which an edit makes regular.
        parts: message.parts.map(({ irregular: _, ...part }) => part),
      }));
    await forAnyHistory(async (wire, settings) => {
      const before = opencode.decode(wire);
      const edits = await runToTheEnd(before, settings);
      expect(view(opencode.decode(opencode.apply(wire, edits, { at })))).toEqual(
        view(applyEdits(before, edits, { at })),
      );
    });
  });

  it("puts no summary behind a user message that waits, and writes a summary for every archived result", async () => {
    await forAnyHistory(async (wire, settings) => {
      const before = opencode.decode(wire);
      const edits = await runToTheEnd(before, settings);
      const after = applyEdits(before, edits, { at });
      const window = filterCompacted(after);
      for (const [index, message] of window.entries()) {
        if (message.metadata?.kind !== "tool_summary") continue;
        const behind = window[index - 1];
        expect(
          behind?.role === "assistant" ||
            behind?.metadata?.kind === "tool_summary" ||
            behind?.parts.some((part) => part.type === "tool"),
        ).toBe(true);
      }
      const ids = new Set(after.map((message) => message.id));
      for (const message of after) {
        for (const part of message.parts) {
          if (part.type === "tool" && part.cut?.archivedAs !== undefined)
            expect(ids).toContain(part.cut.archivedAs);
        }
      }
    });
  });
});
