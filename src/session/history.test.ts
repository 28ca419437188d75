import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { runs } from "../../test/rig/runs.ts";
import { filterCompacted, hideFailedSummaries } from "../stages/boundary.ts";
import { repairPairing } from "../stages/repair.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import { type Message, project, type Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { createHistory, type EditBatch, type History } from "./history.ts";
import { type ContextWindow, createWindowReader } from "./window.ts";

/** The projection computed from nothing but the base and the edits: what the remembered one has to equal. */
function fromScratch(base: Transcript, batches: readonly EditBatch[]): Transcript {
  const applied = batches.reduce((current, { edits, at }) => applyEdits(current, edits, { at }), base);
  const window = filterCompacted(applyEdits(applied, hideFailedSummaries(applied), { at: 0 }));
  return project(applyEdits(window, repairPairing(window), { at: 0 }));
}

/** Inserted messages get the time at which they are applied, which says nothing here. */
const timeless = (messages: Transcript): Transcript =>
  messages.map(({ createdAt: _, ...message }) => message);

const batch = (id: string, edits: readonly Edit[]): EditBatch => ({
  id,
  step: "test",
  reason: "test",
  at: 7,
  edits,
});

const hide = (messageId: string): Edit => ({
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

const anyMessage = (id: string): fc.Arbitrary<Message> =>
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

type Move =
  | { readonly type: "append"; readonly message: Message }
  | { readonly type: "observe"; readonly keep: number; readonly messages: readonly Message[] }
  | { readonly type: "batch"; readonly hideIndex: number; readonly insert: boolean }
  | { readonly type: "undo" };

const anyMoves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .integer({ min: 0, max: 40 })
        .chain((number) => anyMessage(`m${number}`))
        .map((message) => ({ type: "append" as const, message })),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant("observe" as const),
        keep: fc.integer({ min: 0, max: 3 }),
        messages: fc.array(
          fc.integer({ min: 41, max: 60 }).chain((number) => anyMessage(`m${number}`)),
          { maxLength: 3 },
        ),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant("batch" as const),
        hideIndex: fc.nat(20),
        insert: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ type: "undo" as const }) },
  ),
  { maxLength: 40 },
);

/** A history and the reader of its window. */
function started(): { readonly history: History; readonly window: () => ContextWindow } {
  const history = createHistory();
  const read = createWindowReader();
  return { history, window: () => read(history.transcript()) };
}

describe("the history of a session", () => {
  it("DB-13: read on message by message, its window is what computing everything anew gives", () => {
    fc.assert(
      fc.property(anyMoves, (moves) => {
        const { history, window } = started();
        for (const [index, move] of moves.entries()) {
          if (move.type === "append") history.append(deepFreeze(move.message));
          if (move.type === "observe") {
            const base = history.source();
            history.observe([...base.slice(0, Math.max(0, base.length - move.keep)), ...move.messages]);
          }
          if (move.type === "batch") {
            const target = history.transcript()[move.hideIndex];
            const inserted: Message = {
              id: `i${index}`,
              role: "user",
              parts: [{ type: "text", text: "in between" }],
            };
            const edits = target === undefined ? [] : [hide(target.id)];
            const insert: Edit = {
              type: "insert-message",
              message: inserted,
              after: target?.id ?? null,
              stage: "t",
              reason: "t",
            };
            history.add(batch(`b${index}`, move.insert ? [...edits, insert] : edits));
          }
          if (move.type === "undo") {
            const last = history.batches().at(-1);
            if (last !== undefined) history.remove(last.id);
          }
          const expected = fromScratch(history.source(), history.batches());
          expect(timeless(window().shown)).toEqual(timeless(expected));
          expect(findFaults(window().shown)).toEqual([]);
          expect(
            timeless(
              project(
                applyEdits(
                  history.source(),
                  [...history.batches().flatMap(({ edits }) => edits), ...window().edits],
                  { at: 7 },
                ),
              ),
            ),
          ).toEqual(timeless(expected));
        }
      }),
      { numRuns: runs(400) },
    );
  });

  it("gives the same list as long as nothing changes, and never changes a list it gave", () => {
    const { history, window } = started();
    for (const message of transcript("u:5 a:5")) history.append(message);
    const before = window().shown;
    expect(window().shown).toBe(before);
    history.append({ id: "m9", role: "user", parts: [{ type: "text", text: "more" }] });
    expect(before).toHaveLength(2);
    expect(window().shown).toHaveLength(3);
  });

  it("keeps its messages when the host gives equal ones that are other objects", () => {
    const { history, window } = started();
    history.observe(transcript("u:5 a:5(bash:9) u:5"));
    const before = window().shown;
    expect(history.observe(transcript("u:5 a:5(bash:9) u:5")).extent).toBe("same");
    expect(window().shown).toBe(before);
    const grown = history.observe(transcript("u:5 a:5(bash:9) u:5 a:1"));
    expect(grown).toMatchObject({ extent: "end", changed: [{ id: "m4" }] });
    expect(window().shown[0]).toBe(before[0]);
  });

  it("keeps its messages when other batches say the same, so that nothing is measured again", () => {
    const { history } = started();
    history.observe(transcript("u:5 a:5(bash:9) u:5 a:5(bash:9) u:5"));
    for (const id of ["m1", "m2", "m3"]) history.add(batch(`hide ${id}`, [hide(id)]));
    const before = history.transcript();
    expect(history.replace([batch("all", [hide("m1"), hide("m2"), hide("m3")])])).toEqual([]);
    const after = history.transcript();
    expect(after.map((message, index) => message === before[index])).toEqual(before.map(() => true));
  });

  it("takes a message of which something arrived in the place of the old one", () => {
    const { history, window } = started();
    history.observe(transcript("u:5 a:5(bash?)"));
    expect(history.observe(transcript("u:5 a:5(bash:9)"))).toMatchObject({ extent: "end" });
    expect(window().shown[1]?.parts[1]).toMatchObject({ outcome: { status: "done" } });
  });

  it("INT-6: drops a summary of messages that the owner took back, and keeps what only hides", () => {
    const { history, window } = started();
    history.observe(transcript("u:5 a:5 u:5 a:5"));
    const summary: Message = { id: "s", role: "user", parts: [{ type: "text", text: "summed up" }] };
    history.add(batch("cleared", [hide("m2")]));
    history.add(
      batch("summary", [
        hide("m3"),
        { type: "insert-message", message: summary, after: "m3", stage: "t", reason: "t" },
      ]),
    );
    const { dropped } = history.observe(transcript("u:5 a:5"));
    expect(dropped.map(({ id }) => id)).toEqual(["summary"]);
    expect(window().shown.map(({ id }) => id)).toEqual(["m1"]);
  });

  it("INT-6: a message that comes back meets the edits again that speak of it", () => {
    const { history, window } = started();
    history.observe(transcript("u:5 a:5 u:5"));
    history.add(batch("hidden", [hide("m3")]));
    history.observe(transcript("u:5 a:5"));
    history.observe(transcript("u:5 a:5 u:5"));
    expect(window().shown.map(({ id }) => id)).toEqual(["m1", "m2"]);
  });

  it("finds messages that have left the base and messages that a batch inserted", () => {
    const { history } = started();
    history.observe(transcript("u:5 a:5 u:5"));
    history.observe(transcript("u:5"));
    expect(history.find("m3")).toMatchObject({ id: "m3" });
    expect(history.find("m7")).toBeUndefined();
  });

  it("names repeated ids apart", () => {
    const { history } = started();
    const [first] = transcript("u:5");
    if (first === undefined) throw new Error("no message");
    history.observe([first, { ...first, role: "assistant" }]);
    expect(history.source().map(({ id }) => id)).toEqual(["m1", "m1~2"]);
  });
});

describe("calls that share an id", () => {
  const calling = (id: string, ...callIds: string[]): Message => ({
    id,
    role: "assistant",
    parts: callIds.map((callId) => ({
      type: "tool",
      callId,
      tool: "bash",
      input: {},
      outcome: { status: "done", output: `result of ${id}`, attachments: [] },
    })),
  });
  const callIds = (messages: Transcript) =>
    messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part.callId] : [])));
  const all = deepFreeze([calling("a", "c", "c"), calling("b", "", "c"), calling("d", "e", "")]);
  const names = ["c", "c_2", "call_1", "c_3", "e", "call_2"];

  it("get names of their own, in whatever way they come in, and keep them", () => {
    const observed = createHistory();
    observed.observe(all.slice(0, 1));
    observed.observe(all.slice(0, 2));
    const before = observed.source();
    observed.observe(all);
    expect(callIds(observed.source())).toEqual(names);
    expect(observed.source()[1]).toBe(before[1]);
    expect(observed.observe(all).extent).toBe("same");

    const appended = createHistory();
    for (const message of all) appended.append(message);
    expect(callIds(appended.source())).toEqual(names);
  });

  it("have their names back when a message comes again or leaves", () => {
    const history = createHistory();
    for (const message of all) history.append(message);
    history.append(calling("b", "x", "c"));
    expect(callIds(history.source())).toEqual(["c", "c_2", "x", "c_3", "e", "call_2"]);
    history.observe(all.slice(1));
    expect(callIds(history.source())).toEqual(["call_1", "c", "e", "call_2"]);
  });
});
