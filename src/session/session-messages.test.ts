import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSession } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { anyMessage, fromScratch, hide, timeless } from "../../test/rig/odd-messages.ts";
import { runs } from "../../test/rig/runs.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import { type Message, project, type Transcript } from "../transcript/message.ts";
import type { Session } from "./session.ts";

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
      weight: 3,
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

/** A session that does nothing but what it is told to: its only stage makes the edits that are given next. */
function started() {
  const none: Choice = () => [];
  let choose = none;
  const stage = (given: Transcript): readonly Edit[] => choose(given);
  const session = createSession(
    { clock: createFakeClock() },
    { stages: [stage], prune: "off", toolOutput: "off", compactAt: "never" },
  );
  return {
    session,
    /** Puts edits in force, unless the messages have not changed since the last. */
    async edit(choice: Choice): Promise<void> {
      choose = choice;
      await session.prepare();
      choose = none;
    },
  };
}

/** Edits of what the model sees. */
type Choice = (given: Transcript) => readonly Edit[];

const insert = (id: string, after: string | null): Edit => ({
  type: "insert-message",
  message: { id, role: "user", parts: [{ type: "text", text: "in between" }] },
  after,
  stage: "test",
  reason: "test",
});
const ids = (session: Session): readonly string[] => session.messages().map(({ id }) => id);

describe("the messages of a session", () => {
  it("taken in one by one, what they give to send is what computing everything anew gives", async () => {
    let batches = 0;
    await fc.assert(
      fc.asyncProperty(anyMoves, async (moves) => {
        const { session, edit } = started();
        // The same messages, and never an edit.
        const plain = started().session;
        for (const [index, move] of moves.entries()) {
          if (move.type === "append")
            for (const each of [session, plain]) each.append(deepFreeze(move.message));
          if (move.type === "observe") {
            const base = plain.transcript();
            const list = [...base.slice(0, Math.max(0, base.length - move.keep)), ...move.messages];
            for (const each of [session, plain]) each.observe(list);
          }
          if (move.type === "batch") {
            await edit((given) => {
              const target = given[move.hideIndex % given.length]?.id;
              const inserted = move.insert ? [insert(`i${index}`, target ?? null)] : [];
              return target === undefined ? inserted : [hide(target), ...inserted];
            });
          }
          if (move.type === "undo") await session.undo();
          const base = plain.transcript();
          const inForce = session.status().batches;
          batches += move.type === "batch" ? inForce.length : 0;
          const expected = timeless(fromScratch(base, inForce));
          expect(timeless(session.messages())).toEqual(expected);
          expect(findFaults(session.messages())).toEqual([]);
          expect(timeless(project(applyEdits(base, session.edits(), { at: 7 })))).toEqual(expected);
        }
      }),
      { numRuns: runs(400) },
    );
    expect(batches).toBeGreaterThan(runs(400) / 8);
  });

  it("give the same list as long as nothing changes, and never change a list that was given", () => {
    const { session } = started();
    for (const message of transcript("u:5 a:5")) session.append(message);
    const before = session.messages();
    expect(session.messages()).toBe(before);
    session.append({ id: "m9", role: "user", parts: [{ type: "text", text: "more" }] });
    expect(before).toHaveLength(2);
    expect(session.messages()).toHaveLength(3);
  });

  it("stay the same objects when the host gives equal ones that are others", () => {
    const { session } = started();
    session.observe(transcript("u:5 a:5(bash:9) u:5"));
    const before = session.messages();
    session.observe(transcript("u:5 a:5(bash:9) u:5"));
    expect(session.messages()).toBe(before);
    session.observe(transcript("u:5 a:5(bash:9) u:5 a:1"));
    expect(ids(session)).toEqual(["m1", "m2", "m3", "m4"]);
    expect(session.messages()[0]).toBe(before[0]);
  });

  it("take the place of those of which less had arrived", () => {
    const { session } = started();
    session.observe(transcript("u:5 a:5(bash?)"));
    session.observe(transcript("u:5 a:5(bash:9)"));
    expect(session.messages()[1]?.parts[1]).toMatchObject({ outcome: { status: "done" } });
  });

  it("a summary of messages that the owner took back is dropped, and what only hides stays", async () => {
    const { session, edit } = started();
    session.observe(transcript("u:5 a:5 u:5"));
    await edit(() => [hide("m2")]);
    session.observe(transcript("u:5 a:5 u:5 a:5"));
    await edit(() => [hide("m3"), insert("s", "m3")]);
    expect(ids(session)).toEqual(["m1", "s", "m4"]);
    session.observe(transcript("u:5 a:5"));
    expect(ids(session)).toEqual(["m1"]);
    expect(session.status().batches).toHaveLength(1);
  });

  it("meet the edits again that speak of them when they come back", async () => {
    const { session, edit } = started();
    session.observe(transcript("u:5 a:5 u:5"));
    await edit(() => [hide("m3")]);
    session.observe(transcript("u:5 a:5"));
    session.observe(transcript("u:5 a:5 u:5"));
    expect(ids(session)).toEqual(["m1", "m2"]);
  });

  it("can be read when they have left the list, and not when they were never there", async () => {
    const { session } = started();
    session.observe(transcript("u:5 a:5 u:5"));
    session.observe(transcript("u:5"));
    expect(await session.recall("m3")).toMatchObject({ status: "found" });
    expect(await session.recall("m7")).not.toMatchObject({ status: "found" });
  });

  it("have names of their own where ids are repeated", () => {
    const { session } = started();
    const [first] = transcript("u:5");
    if (first === undefined) throw new Error("no message");
    session.observe([first, { ...first, role: "assistant" }]);
    expect(session.transcript().map(({ id }) => id)).toEqual(["m1", "m1~2"]);
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
    const observed = started().session;
    observed.observe(all.slice(0, 1));
    observed.observe(all.slice(0, 2));
    const before = observed.transcript();
    observed.observe(all);
    const after = observed.transcript();
    expect(callIds(after)).toEqual(names);
    expect(after[1]).toBe(before[1]);
    observed.observe(all);
    expect(observed.transcript()).toBe(after);

    const appended = started().session;
    for (const message of all) appended.append(message);
    expect(callIds(appended.transcript())).toEqual(names);
  });

  it("have their names back when a message comes again or leaves", () => {
    const { session } = started();
    for (const message of all) session.append(message);
    session.append(calling("b", "x", "c"));
    expect(callIds(session.transcript())).toEqual(["c", "c_2", "x", "c_3", "e", "call_2"]);
    session.observe(all.slice(1));
    expect(callIds(session.transcript())).toEqual(["call_1", "c", "e", "call_2"]);
  });
});
