import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forkContext } from "../src/fork/fork.ts";
import { formatOf } from "../src/formats/read-transcript.ts";
import type { FormatName } from "../src/formats/registry.ts";
import { opencode2Request } from "../src/formats/wires/opencode2/opencode2-request.ts";
import { createSession } from "../src/session/session.ts";
import { repairPairing } from "../src/stages/repair.ts";
import { deepFreeze } from "../src/testing/format-contract.ts";
import { applyEdits, type Edit } from "../src/transcript/edit.ts";
import type { Format } from "../src/transcript/format.ts";
import { createFakeClock } from "./rig/fakes.ts";
import type { History } from "./rig/random-history/history.ts";
import { lowerToOpencode2Request } from "./rig/random-history/lower-to-opencode2.ts";
import { calls, expectedPairs, historyWith, pairs, sharedIds } from "./rig/random-history/shared-call-ids.ts";
import { HISTORY_WRITERS } from "./rig/random-history/write-history.ts";
import { runs } from "./rig/runs.ts";

interface FormatCase {
  readonly name: string;
  readonly format: Format<unknown>;
  readonly write: (history: History) => unknown;
}

const FORMATS: readonly FormatCase[] = [
  ...(Object.keys(HISTORY_WRITERS) as FormatName[]).map((name) => ({
    name,
    format: formatOf(name),
    write: HISTORY_WRITERS[name],
  })),
  {
    name: "opencode2-request",
    format: opencode2Request as Format<unknown>,
    write: lowerToOpencode2Request,
  },
];

describe.each(FORMATS)("calls that share an id in $name", ({ format, write }) => {
  const at = 1;

  it("are read with their own results and under names of their own, which stay as the conversation grows", () => {
    fc.assert(
      fc.property(sharedIds, (turns) => {
        const transcript = format.decode(deepFreeze(write(historyWith(turns))));
        expect(pairs(transcript)).toEqual(expectedPairs(turns));
        const names = calls(transcript).map(({ callId }) => callId);
        expect(new Set(names).size).toBe(names.length);
        expect(names).not.toContain("");
        const shorter = calls(format.decode(write(historyWith(turns.slice(0, -1)))));
        expect(names.slice(0, shorter.length)).toEqual(shorter.map(({ callId }) => callId));
      }),
      { numRuns: runs(200, 30) },
    );
  });

  it("are all sent: by a session, by a fork, and after each of some edits", () => {
    fc.assert(
      fc.property(sharedIds, fc.nat(9), (turns, hidden) => {
        const wire = deepFreeze(write(historyWith(turns)));
        const transcript = format.decode(wire);
        const expected = expectedPairs(turns);

        const session = createSession({ clock: createFakeClock() });
        session.observe(transcript);
        expect(pairs(session.messages())).toEqual(expected);
        const sent = format.apply(wire, session.edits(), { at });
        expect(pairs(format.decode(sent))).toEqual(expected);

        const fork = forkContext(transcript);
        for (let number = 1; number <= expected.length; number++)
          expect(fork.text).toContain(`result ${number}.`);
        const inherited = [...fork.edits, ...repairPairing(applyEdits(transcript, fork.edits, { at }))];
        expect(pairs(format.decode(format.apply(wire, inherited, { at })))).toEqual(expected);

        const repaired = format.apply(wire, repairPairing(transcript, { lastMessage: "user" }), { at });
        expect(format.faults(repaired)).toEqual([]);

        // Whatever leaves, the other results stay with their calls.
        const gone = hidden % transcript.length;
        const messageId = transcript[gone]?.id ?? "";
        const hide: Edit = { type: "hide-message", messageId, stage: "test", reason: "test" };
        const left = transcript.filter((_, index) => index !== gone);
        expect(pairs(format.decode(format.apply(wire, [hide], { at })))).toEqual(pairs(left));
      }),
      { numRuns: runs(200, 30) },
    );
  });

  it("are in the window of a session that is too small for them, or are recalled by the handle of an edit", async () => {
    await fc.assert(
      fc.asyncProperty(sharedIds, async (turns) => {
        const wire = write(historyWith(turns, "\nline\n".repeat(200)));
        // Small, so that results have to leave the window.
        const limits = { contextTokens: 3_000, outputTokens: 300 };
        const session = createSession({ clock: createFakeClock() }, { limits });
        session.observe(format.decode(wire));
        await session.prepare({ moment: "after-turn" });
        const shown = JSON.stringify(session.messages());
        const handles = session.edits().flatMap((edit) => edit.omitted?.handle ?? []);
        const recalled = await Promise.all(handles.map((handle) => session.recall(handle)));
        const texts = recalled.map((each) => (each.status === "found" ? each.text : ""));
        for (const number of turns.flat().keys()) {
          const result = `result ${number + 1}.`;
          expect(shown.includes(result) || texts.some((text) => text.includes(result)), result).toBe(true);
        }
      }),
      { numRuns: runs(40, 8) },
    );
  });
});

/** Where a result may stand apart from its call; in Claude Code's tree a second one begins another branch. */
const APART = FORMATS.filter(({ name }) => !/^opencode|^gemini-cli$|^claude-code$/.test(name));

describe.each(APART)("results in $name that come before their calls, or without one", ({ format, write }) => {
  it("are sent, or are recalled by the handle of an edit", async () => {
    await fc.assert(
      fc.asyncProperty(sharedIds, fc.nat(9), fc.nat(9), async (turns, early, alone) => {
        const history = historyWith(turns);
        const steps = [...history.steps];
        const at = steps.flatMap(({ type }, index) => (type === "results" ? [index] : []));
        const swapped = at[early % at.length] ?? 0;
        steps.splice(swapped - 1, 2, ...steps.slice(swapped - 1, swapped + 1).toReversed());
        const result = { tool: "bash", text: "result alone.", isError: false, image: undefined };
        const callId = turns.flat()[alone % turns.flat().length] ?? "";
        steps.splice(at[alone % at.length] ?? 1, 0, { type: "results", results: [{ ...result, callId }] });
        const wire = write({ ...history, steps });
        const session = createSession({ clock: createFakeClock() });
        session.observe(format.decode(wire));
        const sent = JSON.stringify(session.messages());
        const handles = session.edits().flatMap((edit) => edit.omitted?.handle ?? []);
        const recalled = await Promise.all(handles.map((handle) => session.recall(handle)));
        const texts = recalled.map((each) => (each.status === "found" ? each.text : ""));
        for (const text of ["result alone.", ...turns.flat().map((_, index) => `result ${index + 1}.`)])
          expect(sent.includes(text) || texts.some((each) => each.includes(text)), text).toBe(true);
      }),
      { numRuns: runs(100, 20) },
    );
  });
});
