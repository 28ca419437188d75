import { describe, expect, it } from "vitest";
import { deepFreeze } from "../testing/deep-freeze.ts";
import { notate, transcript } from "../testing/notation.ts";
import { applyEdits } from "./apply-edits.ts";
import type { Edit } from "./edit.ts";
import { project } from "./visibility.ts";

const why = { stage: "test", reason: "test" } as const;
const at = 7;

describe("applyEdits", () => {
  const before = deepFreeze(transcript("u:10 a:5(bash:90,read:20) u:3"));
  const inserted = { id: "new", role: "user", parts: [{ type: "text", text: "hi" }] } as const;

  it.each<{ name: string; edits: readonly Edit[]; after: string }>([
    {
      name: "hides a message",
      edits: [{ type: "hide-message", messageId: "m1", ...why }],
      after: "a:5(bash:90,read:20) u:3",
    },
    {
      name: "hides a part",
      edits: [{ type: "hide-part", what: "part", messageId: "m2", partIndex: 1, ...why }],
      after: "u:10 a:5(read:20) u:3",
    },
    {
      name: "clears an output and keeps its call",
      edits: [{ type: "hide-part", what: "output", messageId: "m2", partIndex: 1, ...why }],
      after: "u:10 a:5(bash~33,read:20) u:3",
    },
    {
      name: "inserts in front",
      edits: [{ type: "insert-message", message: inserted, after: null, ...why }],
      after: "u:2 u:10 a:5(bash:90,read:20) u:3",
    },
    {
      name: "inserts at the end",
      edits: [{ type: "insert-message", message: inserted, after: "m3", ...why }],
      after: "u:10 a:5(bash:90,read:20) u:3 u:2",
    },
    {
      name: "moves to the front",
      edits: [{ type: "move-message", messageId: "m3", after: null, ...why }],
      after: "u:3 u:10 a:5(bash:90,read:20)",
    },
    {
      name: "moves to the end",
      edits: [{ type: "move-message", messageId: "m1", after: "m3", ...why }],
      after: "a:5(bash:90,read:20) u:3 u:10",
    },
    {
      name: "ignores targets that are not there",
      edits: [
        { type: "hide-message", messageId: "no", ...why },
        { type: "move-message", messageId: "m1", after: "no", ...why },
        { type: "hide-part", what: "part", messageId: "m1", partIndex: 9, ...why },
      ],
      after: "u:10 a:5(bash:90,read:20) u:3",
    },
  ])("$name", ({ edits, after }) => {
    expect(notate(project(applyEdits(before, edits, { at })))).toBe(after);
  });

  it("gives the same reference for no edits", () => {
    expect(applyEdits(before, [], { at })).toBe(before);
  });

  it("keeps what it hides (hide, never delete)", () => {
    const after = applyEdits(
      before,
      [{ type: "hide-part", what: "output", messageId: "m2", partIndex: 1, ...why }],
      { at },
    );
    expect(after[1]?.parts[1]).toMatchObject({
      clearedAt: at,
      outcome: { status: "done", output: "c".repeat(90) },
    });
    expect(applyEdits(before, [{ type: "hide-message", messageId: "m1", ...why }], { at })).toHaveLength(3);
  });

  it("shares no metadata between messages (DATA-5, DC-2)", () => {
    const shared = { userVisible: true };
    const messages = deepFreeze(transcript("u:1 u:2").map((message) => ({ ...message, metadata: shared })));
    const after = applyEdits(messages, [{ type: "hide-message", messageId: "m1", ...why }], { at });
    expect(after[0]?.metadata).toEqual({ userVisible: true, agentVisible: false });
    expect(after[1]?.metadata).toEqual({ userVisible: true });
    expect(messages[0]?.metadata).toEqual({ userVisible: true });
  });
});
