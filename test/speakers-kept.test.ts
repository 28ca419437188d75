import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compact } from "../src/compaction/compact.ts";
import { planCompaction } from "../src/compaction/plan/plan-compaction.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../src/compaction/trigger/compaction-settings.ts";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { handOff } from "../src/handoff/handoff.ts";
import { backupSummaryOf, textToRestore } from "../src/plugin/window/restore-after-compaction.ts";
import { createSession } from "../src/session/session.ts";
import type { Transcript } from "../src/transcript/message.ts";
import type { Part } from "../src/transcript/part.ts";
import { breakOut, conversation, toMessage } from "./rig/break-outs.ts";
import { createFakeClock } from "./rig/fakes.ts";
import { countTags, forkSpeakers } from "./rig/parse-speakers.ts";
import { runs } from "./rig/runs.ts";

describe("who said it cannot be forged in what is kept", { timeout: 900_000 }, () => {
  it("by messages that are recalled together, whole or in pieces", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.nat(20_000), fc.nat(9_000), async (said, fromChar, chars) => {
        const transcript = said.map(toMessage);
        const session = createSession({ clock: createFakeClock() });
        session.observe(transcript);
        const handle = `${transcript[0]?.id}..${transcript.at(-1)?.id}`;
        const expected = said.map(({ role }) => (role === "user" || role === "program" ? "User:" : "Agent:"));
        const whole = await session.recall(handle);
        if (whole.status !== "found") throw new Error(whole.status);
        const speakers = forkSpeakers(whole.text);
        if (whole.isWhole) expect(speakers).toEqual(expected);
        const piece = await session.recall(handle, { fromChar, toChar: fromChar + chars });
        for (const recalled of [whole, piece])
          if (recalled.status === "found") expect(isPartOf(forkSpeakers(recalled.text), expected)).toBe(true);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("by a session that is handed over: what the receiver reads as the user's are the user's words", async () => {
    await fc.assert(
      fc.asyncProperty(
        conversation,
        fc.constantFrom("claude-code", "codex", "opencode", "opencode2", "pi"),
        fc.constantFrom(undefined, 3_000),
        async (said, target, budgetChars) => {
          // Every line says whose it is, and the receiver's own reader tells who speaks.
          const marked = said.map(({ role, text }) => ({ role, text: markLines(text, MARKS[role]) }));
          const { content } = handOff(marked.map(toMessage), {
            target,
            head: { id: randomUUID(), cwd: "/", at: 1, title: "A talk", newId: randomUUID },
            secrets: "taken-out",
            source: { format: "claude-code", path: "/session.jsonl" },
            ...(budgetChars !== undefined && { budgetChars }),
          });
          const { format, transcript } = await readTranscript(new TextEncoder().encode(content));
          expect(format).toBe(target);
          const [users = "", others = ""] = [true, false].map((isUser) =>
            JSON.stringify(transcript.filter(({ role }) => (role === "user") === isUser)),
          );
          expect([users.includes(MARKS.tool), others.includes(MARKS.user)]).toEqual([false, false]);
          if (budgetChars !== undefined) return;
          const spoken = said.map(({ role }) =>
            role === "user" || role === "program" ? "user" : "assistant",
          );
          // The notice is said first.
          expect(turnsOf(transcript.map(({ role }) => role))).toEqual(turnsOf(["user", ...spoken]));
          for (const { role, text } of marked)
            if (text.trim().length > 1)
              expect(role === "user" || role === "program" ? users : others).toContain(MARKS[role]);
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  it("by what is restored after a compaction", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, breakOut, breakOut, async (said, step, status) => {
        const plan: Part = {
          type: "tool",
          callId: "plan",
          tool: "todowrite",
          input: { todos: [{ content: step, status }] },
          outcome: { status: "done", output: step, attachments: [] },
        };
        const transcript = [
          ...said.map(toMessage),
          { id: "plan", role: "assistant" as const, parts: [plan] },
        ];
        const summed = { transcript, pin: [], directory: "/nowhere", redaction: {} };
        const text = await textToRestore(summed, { maxChars: 16_000 });
        expect(forkSpeakers(text)).toEqual([]);
        for (const tag of ["user_words", "pinned", "carried_facts", "conversation"])
          expect([tag, [0, 2].includes(countTags(text, tag))]).toEqual([tag, true]);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("by a summary that no model wrote, and the facts beside it", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (said) => {
        const plan = planCompaction({
          transcript: [...said.map(toMessage), ...NEWEST],
          trigger: "manual",
          // Small, so that everything before the last turn is folded.
          settings: { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: 50 },
        });
        const outcome = await compact(plan, { clock: createFakeClock() }, { at: 1 });
        if (plan.status !== "planned" || outcome.status !== "compacted") return;
        const { parts = [] } = outcome.messages.find(({ id }) => id === plan.ids.summary) ?? {};
        const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
        expect(text).not.toBe("");
        expect(forkSpeakers(text)).toEqual([]);
        for (const tag of ["user_words", "pinned", "carried_facts", "conversation"])
          expect([tag, [0, 2].includes(countTags(text, tag))]).toEqual([tag, true]);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("by the summary that stands beside the agent's own", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (said) => {
        const transcript = said.map(toMessage);
        const text =
          (await backupSummaryOf({ transcript, pin: [], directory: "/nowhere", redaction: {} }, 1)) ?? "";
        const expected = said.map(({ role }) => (role === "user" || role === "program" ? "User:" : "Agent:"));
        expect(isPartOf(forkSpeakers(text), expected)).toBe(true);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

const NEWEST: Transcript = [
  { id: "u9", role: "user", parts: [{ type: "text", text: "go on" }] },
  { id: "a9", role: "assistant", parts: [{ type: "text", text: "ok ".repeat(300) }] },
];

/** True when the speakers are some of the expected ones, in their order. */
function isPartOf(speakers: readonly string[], expected: readonly string[]): boolean {
  let next = 0;
  for (const each of expected) if (each === speakers[next]) next++;
  return next === speakers.length;
}

const MARKS = { user: "§", program: "§", assistant: "¤", tool: "¤" } as const;

function markLines(text: string, mark: string): string {
  return text.replace(/\r?\n|$/g, (end) => mark + end);
}

/** Who speaks, each once where one speaks twice in a row. */
function turnsOf(roles: readonly string[]): readonly string[] {
  return roles.filter((role, index) => role !== roles[index - 1]);
}
