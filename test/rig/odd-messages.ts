import fc from "fast-check";
import type { EditBatch } from "../../src/session/history.ts";
import { filterCompacted, hideFailedSummaries } from "../../src/stages/boundary.ts";
import { repairPairing } from "../../src/stages/repair.ts";
import { applyEdits, type Edit } from "../../src/transcript/edit.ts";
import { type Message, project, type Transcript } from "../../src/transcript/message.ts";
import type { Part } from "../../src/transcript/part.ts";

/** The messages to send computed from nothing but the base and the edits: what the remembered one has to equal. */
export function fromScratch(base: Transcript, batches: readonly EditBatch[]): Transcript {
  const applied = batches.reduce((current, { edits, at }) => applyEdits(current, edits, { at }), base);
  const window = filterCompacted(applyEdits(applied, hideFailedSummaries(applied), { at: 0 }));
  return project(applyEdits(window, repairPairing(window), { at: 0 }));
}

/** Inserted messages get the time at which they are applied, which says nothing here. */
export const timeless = (messages: Transcript): Transcript =>
  messages.map(({ createdAt: _, ...message }) => message);

export const hide = (messageId: string): Edit => ({
  type: "hide-message",
  messageId,
  stage: "test",
  reason: "test",
});

const anyPart: fc.Arbitrary<Part> = fc.oneof(
  fc.constantFrom("", " ", "hello", "\ud800 broken", "\0").map((text) => ({ type: "text" as const, text })),
  fc
    .record({
      type: fc.constant("tool" as const),
      callId: fc.integer({ min: 0, max: 9 }).map(String),
      tool: fc.constantFrom("bash", "read"),
      input: fc.constantFrom({}, { command: "ls\0" }),
      outcome: fc.constantFrom(
        { status: "pending" as const },
        { status: "done" as const, output: "out", attachments: [] },
        { status: "failed" as const, error: "\ud83d" },
      ),
      callMissing: fc.constantFrom(undefined, undefined, true as const),
    })
    .map(({ callMissing, ...part }) => (callMissing ? { ...part, callMissing } : part)),
);

/** A message of any kind, also one that no provider would give. */
export const anyMessage = (id: string): fc.Arbitrary<Message> =>
  fc
    .tuple(
      fc.constantFrom("user", "assistant", "assistant", "system", "marker", "summary"),
      fc.array(anyPart, { maxLength: 3 }),
      fc.constantFrom(undefined, undefined, "stop"),
      fc.boolean(),
    )
    .map(([kind, parts, finish, isHidden]): Message => {
      const rest = { ...(isHidden && { metadata: { agentVisible: false } }), ...(finish && { finish }) };
      if (kind === "marker") return { id, role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
      if (kind === "summary") return { id, role: "assistant", parts, summary: true, ...rest };
      return { id, role: kind, parts, ...rest };
    });
