import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { applyEdits, type Edit, runStages } from "./edit.ts";
import { project, type Transcript } from "./message.ts";
import type { ToolPart } from "./part.ts";

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

  it("shares no metadata between messages", () => {
    const shared = { userVisible: true };
    const messages = deepFreeze(transcript("u:1 u:2").map((message) => ({ ...message, metadata: shared })));
    const after = applyEdits(messages, [{ type: "hide-message", messageId: "m1", ...why }], { at });
    expect(after[0]?.metadata).toEqual({ userVisible: true, agentVisible: false });
    expect(after[1]?.metadata).toEqual({ userVisible: true });
    expect(messages[0]?.metadata).toEqual({ userVisible: true });
  });

  it("replaces a part, and the same message once more, without touching what it was given", () => {
    const text = { type: "text", text: "four" } as const;
    const replace = (partIndex: number): Edit => ({
      type: "replace-part",
      messageId: "m2",
      partIndex,
      part: text,
      ...why,
    });
    const after = applyEdits(before, [replace(0), replace(2), replace(3)], { at });
    expect(after[1]?.parts).toEqual([text, before[1]?.parts[1], text]);
    expect(after[0]).toBe(before[0]);
    expect(applyEdits(before, [replace(9)], { at })[1]).toBe(before[1]);
  });

  it("keeps the time at which an output was cleared first, and clears nothing but outputs", () => {
    const clear = (partIndex: number): Edit => ({
      type: "hide-part",
      what: "output",
      messageId: "m2",
      partIndex,
      ...why,
    });
    const once = deepFreeze(applyEdits(before, [clear(1)], { at: 1 }));
    expect(applyEdits(once, [clear(1)], { at: 2 })[1]).toBe(once[1]);
    expect(applyEdits(before, [clear(0)], { at: 2 })[1]).toBe(before[1]);
  });

  describe("on a call that is signed for the others of its step", () => {
    const signedFirst = deepFreeze(
      before.map((message) => ({
        ...message,
        parts: message.parts.map((part, index) =>
          part.type === "tool" && index === 1 ? { ...part, signed: true as const } : part,
        ),
      })),
    );
    const hide = (partIndex: number): Edit => ({
      type: "hide-part",
      what: "part",
      messageId: "m2",
      partIndex,
      ...why,
    });

    it.each([
      { name: "hides its output alone", edits: [hide(1)], after: "u:10 a:5(bash~33,read:20) u:3" },
      { name: "hides another one", edits: [hide(2)], after: "u:10 a:5(bash:90) u:3" },
      { name: "hides it behind the others", edits: [hide(2), hide(1)], after: "u:10 a:5 u:3" },
      {
        name: "hides it with its message",
        edits: [{ type: "hide-message", messageId: "m2", ...why } as const],
        after: "u:10 u:3",
      },
    ])("$name", ({ edits, after }) => {
      expect(notate(project(applyEdits(signedFirst, edits, { at })))).toBe(after);
      // In one go or one after another: what is stored in batches means the same.
      const inTurn = edits.reduce<Transcript>((now, edit) => applyEdits(now, [edit], { at }), signedFirst);
      expect(inTurn).toEqual(applyEdits(signedFirst, edits, { at }));
    });

    it("knows that it is signed also after a replacement that was stored when nobody knew", () => {
      const part = before[1]?.parts[1] as ToolPart;
      const replace: Edit = { type: "replace-part", messageId: "m2", partIndex: 1, part, ...why };
      const after = applyEdits(signedFirst, [replace, hide(1)], { at });
      expect(notate(project(after))).toBe("u:10 a:5(bash~33,read:20) u:3");
    });
  });

  it("stamps a new message with the time, unless it has one, and takes an id once", () => {
    const insert = (more = {}): Edit => ({
      type: "insert-message",
      message: { ...inserted, ...more },
      after: "m1",
      ...why,
    });
    const after = applyEdits(before, [insert(), insert(), insert({ id: "old", createdAt: 3 })], { at });
    expect(after.map(({ id, createdAt }) => [id, createdAt])).toEqual([
      ["m1", undefined],
      ["old", 3],
      ["new", 7],
      ["m2", undefined],
      ["m3", undefined],
    ]);
    const nowhere = { ...insert(), after: "no" } as Edit;
    expect(applyEdits(before, [nowhere], { at })).toEqual(before);
  });

  it.each([
    { name: "to where it is", moves: [["m2", "m1"]], after: "m1 m2 m3 m4" },
    { name: "behind itself", moves: [["m2", "m2"]], after: "m1 m2 m3 m4" },
    { name: "of something that is not there", moves: [["no", "m1"]], after: "m1 m2 m3 m4" },
    {
      name: "of neighbours",
      moves: [
        ["m1", "m2"],
        ["m4", "m1"],
      ],
      after: "m2 m1 m4 m3",
    },
    {
      name: "of all to the front",
      moves: [
        ["m2", null],
        ["m3", null],
        ["m4", null],
      ],
      after: "m4 m3 m2 m1",
    },
    {
      name: "to the end and back",
      moves: [
        ["m1", "m4"],
        ["m1", null],
      ],
      after: "m1 m2 m3 m4",
    },
    {
      name: "behind a moved one",
      moves: [
        ["m4", null],
        ["m3", "m4"],
      ],
      after: "m4 m3 m1 m2",
    },
  ] as readonly {
    readonly name: string;
    readonly moves: readonly [string, string | null][];
    readonly after: string;
  }[])("moves $name: $after", ({ moves, after }) => {
    const edits = moves.map(
      ([messageId, place]): Edit => ({ type: "move-message", messageId, after: place, ...why }),
    );
    const moved = applyEdits(transcript("u:1 u:1 u:1 u:1"), edits, { at });
    expect(moved.map(({ id }) => id).join(" ")).toBe(after);
  });

  it("means the first of two messages with one id", () => {
    const twins = transcript("u:1 u:2").map((message) => ({ ...message, id: "x" }));
    const after = applyEdits(twins, [{ type: "hide-message", messageId: "x", ...why }], { at });
    expect(notate(after)).toBe("u:2");
  });
});

const history = transcript("u:5 a:3 a:7 u:2");

describe("runStages", () => {
  it("gives each stage what the one before left, and all edits in order", () => {
    const hide = (messageId: string) =>
      ({ type: "hide-message", messageId, stage: "test", reason: "test" }) as const;
    const seen: number[] = [];
    const { transcript: left, edits } = runStages(history, [
      () => [hide("m1")],
      () => [],
      (messages) => {
        seen.push(messages.filter(({ metadata }) => metadata?.agentVisible === false).length);
        return [hide("m4")];
      },
    ]);
    expect(seen).toEqual([1]);
    expect(edits).toEqual([hide("m1"), hide("m4")]);
    expect(left.map(({ metadata }) => metadata?.agentVisible)).toEqual([false, undefined, undefined, false]);
  });

  it("changes nothing where no stage asks for it", () => {
    expect(runStages(history, [() => []])).toEqual({ transcript: history, edits: [] });
    expect(runStages(history, [() => []]).transcript).toBe(history);
  });
});
