import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer, startsAndEnds } from "../../test/rig/fakes.ts";
import { deepFreeze } from "../../test/rig/notation.ts";
import { anyOpenCodeMessages } from "../../test/rig/random-history/lower-to-opencode.ts";
import { anyText } from "../../test/rig/random-history/random-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { filterCompacted } from "../stages/boundary.ts";
import { repairPairing } from "../stages/repair.ts";
import { applyEdits } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import {
  isVisibleToModel,
  type Message,
  project,
  type Transcript,
  typedText,
} from "../transcript/message.ts";
import { type CompactionEvent, compact } from "./compact.ts";
import { type CompactionInput, type CompactionPlan, planCompaction } from "./plan/plan-compaction.ts";
import { pinText } from "./summary/pins.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "./trigger/compaction-settings.ts";

/** Long enough that a compaction can gain something, whatever else the history holds. */
const BULK: Message = {
  id: "bulk",
  role: "assistant",
  parts: [{ type: "text", text: "a long answer about something ".repeat(2_000) }],
  finish: "stop",
};

const anyInput: fc.Arbitrary<CompactionInput> = fc
  .record({
    history: anyOpenCodeMessages,
    later: anyOpenCodeMessages,
    bulk: fc.boolean(),
    trigger: fc.constantFrom("threshold", "overflow", "context_limit_recovery", "manual"),
    representation: fc.constantFrom("pivot", "user-summary"),
    tailTokens: fc.constantFrom(0, 1, 300, 2_000),
    keepRecentTokens: fc.constantFrom(0, 300, 20_000),
    keepRecent: fc.integer({ min: 0, max: 6 }),
    toolCallCutoff: fc.integer({ min: 0, max: 3 }),
    pins: fc.array(
      fc.oneof(
        fc.record({ text: anyText.filter((text) => text !== "") }),
        fc.record({ handle: fc.constantFrom("msg_1/0", "msg_2", "bulk/0", "no") }),
      ),
      { maxLength: 3 },
    ),
  })
  .map(({ history, later, bulk, keepRecentTokens, keepRecent, toolCallCutoff, ...rest }) => ({
    ...rest,
    transcript: unique([...opencode.decode(history), ...(bulk ? [BULK] : []), ...opencode.decode(later)]),
    settings: { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens, keepRecent, toolCallCutoff },
  }));

const planOf = (input: CompactionInput) => planCompaction(deepFreeze(input));

async function carryOut(plan: CompactionPlan) {
  const clock = createFakeClock();
  const events: CompactionEvent[] = [];
  const ports = { clock, summarizer: createFakeSummarizer("## Goal\nGo on.") };
  const outcome = await compact(plan, ports, { at: 9, onEvent: startsAndEnds(events) });
  return { outcome, events };
}

const textsOf = (messages: Transcript) =>
  messages.flatMap((message) => message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));

describe("any history", () => {
  it("is planned the same way twice, and again after nothing happened", () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        expect(planOf(input)).toEqual(planOf(input));
      }),
      { numRuns: runs(100), endOnFailure: true },
    );
  });

  it("is compacted into one that providers accept, with the last request and every pin in it, or left alone", async () => {
    let compactions = 0;
    await fc.assert(
      fc.asyncProperty(anyInput, async (input) => {
        const plan = planOf(input);
        if (plan.status === "nothing") return;
        const { outcome, events } = await carryOut(deepFreeze(plan));
        // A summary may be too long for what little it replaces.
        const failure = outcome.status === "compacted" ? outcome.degraded : outcome.why;
        expect(events.map((event) => event.type)).toEqual(
          failure !== undefined
            ? ["compaction_start", "compaction.failed", "compaction_end"]
            : ["compaction_start", "compaction_end"],
        );
        const after = applyEdits(input.transcript, outcome.edits, { at: 9 });
        expect(findFaults(applyEdits(after, repairPairing(after), { at: 9 }))).toEqual([]);
        if (outcome.status === "unchanged") {
          expect(["no-gain"]).toContain(outcome.reason);
          expect(after.filter(isVisibleToModel).length).toBeLessThanOrEqual(
            input.transcript.filter(isVisibleToModel).length,
          );
          return;
        }
        compactions++;
        expect(outcome.messages).toEqual(after);
        expect(outcome.tokensAfter).toBeLessThanOrEqual(0.9 * outcome.tokensBefore);
        expectWindow(plan, after);
        expectNothingDeleted(input.transcript, after);
        expect(await carryOut(plan)).toEqual({ outcome, events });
      }),
      { numRuns: runs(300), endOnFailure: true },
    );
    expect(compactions).toBeGreaterThan(runs(300) * 0.5);
  });

  it("needs no second compaction right after the first", async () => {
    await fc.assert(
      fc.asyncProperty(anyInput, async (input) => {
        // An archived result can be shorter than the line that says so, and then what stays has grown.
        const settings = { ...DEFAULT_COMPACTION_SETTINGS, ...input.settings, toolCallCutoff: 0 };
        const plan = planOf({ ...input, settings, trigger: "threshold" });
        if (plan.status === "nothing") return;
        const { outcome } = await carryOut(plan);
        if (outcome.status === "unchanged") return;
        const again = planOf({ ...input, settings, trigger: "threshold", transcript: outcome.messages });
        expect(again.status === "nothing" || (await carryOut(again)).outcome.status === "unchanged").toBe(
          true,
        );
      }),
      { numRuns: runs(150), endOnFailure: true },
    );
  });
});

const recordings = resolve(import.meta.dirname, "../../test/recordings/opencode");

describe("recorded sessions", () => {
  it.each(readdirSync(recordings).filter((file) => file.endsWith(".json")))(
    "%s is compacted into one that providers accept, or left alone",
    async (file) => {
      const transcript = opencode.decode(JSON.parse(readFileSync(join(recordings, file), "utf8")));
      for (const representation of ["pivot", "user-summary"] as const) {
        const plan = planOf({
          transcript,
          trigger: "context_limit_recovery",
          representation,
          tailTokens: 100,
        });
        if (plan.status === "nothing") continue;
        const { outcome } = await carryOut(plan);
        const after = applyEdits(transcript, outcome.edits, { at: 9 });
        expect(findFaults(applyEdits(after, repairPairing(after), { at: 9 }))).toEqual([]);
        if (outcome.status === "compacted") expectWindow(plan, after);
      }
    },
  );
});

function expectWindow(plan: CompactionPlan, after: Transcript): void {
  const shown = project(after);
  const withoutSystem = shown.filter((message) => message.role !== "system");
  if (plan.representation === "pivot") {
    expect(project(filterCompacted(after)).filter((message) => message.role !== "system")).toEqual(
      withoutSystem,
    );
  }
  const texts = textsOf(shown);
  const { lastRequest } = plan;
  if (lastRequest?.place === "kept") {
    expect(shown.some((message) => typedText(message) === lastRequest.text)).toBe(true);
  }
  for (const pin of plan.facts.pins) {
    const isKept = plan.keptIds.some((id) => pin.handle === id || pin.handle?.startsWith(`${id}/`));
    const isShown = (text: string): boolean =>
      text.includes(pinText(pin)) || text.includes("not fit the window");
    if (!isKept) expect(texts.some(isShown)).toBe(true);
  }
}

function expectNothingDeleted(before: Transcript, after: Transcript): void {
  const ids = new Set(after.map((message) => message.id));
  for (const message of before) expect(ids.has(message.id)).toBe(true);
}

function unique(messages: Transcript): Transcript {
  const seen = new Set<string>();
  return messages.filter((message) => !seen.has(message.id) && seen.add(message.id));
}
