import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { anyMessage, fromScratch, hide, timeless } from "../../test/rig/odd-messages.ts";
import { runs } from "../../test/rig/runs.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import { type Message, project, type Transcript } from "../transcript/message.ts";
import {
  appendMessage,
  type EditBatch,
  EMPTY_HISTORY,
  findMessage,
  type History,
  observeMessages,
  withBatch,
  withBatches,
  withoutBatch,
} from "./history.ts";
import { windowOf } from "./window.ts";

const batch = (id: string, edits: readonly Edit[]): EditBatch => ({
  id,
  step: "test",
  reason: "test",
  at: 7,
  edits,
});

type Move =
  | { readonly type: "append"; readonly message: Message }
  | { readonly type: "observe"; readonly keep: number; readonly messages: readonly Message[] }
  | ({ readonly type: "batch" } & BatchMove)
  | { readonly type: "undo" };

interface BatchMove {
  readonly hideIndex: number;
  readonly insert: boolean;
}

const anyBatch = fc.record({
  type: fc.constant("batch" as const),
  hideIndex: fc.nat(20),
  insert: fc.boolean(),
});

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
    { weight: 1, arbitrary: anyBatch },
    { weight: 1, arbitrary: fc.constant({ type: "undo" as const }) },
  ),
  { maxLength: 40 },
);

const observed = (messages: Transcript, history = EMPTY_HISTORY): History =>
  deepFreeze(observeMessages(history, messages).history);

const appended = (messages: Transcript, history = EMPTY_HISTORY): History =>
  messages.reduce((before, message) => deepFreeze(appendMessage(before, message).history), history);

function edited(history: History, ...batches: readonly EditBatch[]): History {
  return batches.reduce((before, each) => {
    const after = withBatch(before, each);
    if (after === undefined) throw new Error(`${each.id} cannot be applied`);
    return deepFreeze(after);
  }, history);
}

const shown = ({ transcript }: History): Transcript => windowOf(transcript).shown;

/** Hides a message, and may put another behind it. */
function batchOf(history: History, index: number, { hideIndex, insert }: BatchMove): EditBatch {
  const target = history.transcript[hideIndex];
  const message: Message = { id: `i${index}`, role: "user", parts: [{ type: "text", text: "in between" }] };
  const edits = target === undefined ? [] : [hide(target.id)];
  const after = target?.id ?? null;
  const inserted: Edit = { type: "insert-message", message, after, stage: "t", reason: "t" };
  return batch(`b${index}`, insert ? [...edits, inserted] : edits);
}

function moved(history: History, move: Move, index: number): History {
  const { messages, batches } = history;
  switch (move.type) {
    case "append":
      return appended([deepFreeze(move.message)], history);
    case "observe": {
      const kept = messages.slice(0, Math.max(0, messages.length - move.keep));
      return observed([...kept, ...move.messages], history);
    }
    case "batch":
      return edited(history, batchOf(history, index, move));
    case "undo":
      return deepFreeze(withoutBatch(history, batches.at(-1)?.id ?? "").history);
  }
}

describe("the history of a session", () => {
  it("whatever happened to it, its window is what computing everything anew gives", () => {
    fc.assert(
      fc.property(anyMoves, (moves) => {
        let history = EMPTY_HISTORY;
        for (const [index, move] of moves.entries()) {
          history = moved(history, move, index);
          const window = windowOf(history.transcript);
          const expected = fromScratch(history.messages, history.batches);
          expect(timeless(window.shown)).toEqual(timeless(expected));
          expect(findFaults(window.shown)).toEqual([]);
          const edits = [...history.batches.flatMap((each) => each.edits), ...window.edits];
          expect(timeless(project(applyEdits(history.messages, edits, { at: 7 })))).toEqual(
            timeless(expected),
          );
        }
      }),
      { numRuns: runs(400) },
    );
  });

  it("is the same, and so is its window, whether its messages were appended or observed whole", () => {
    const anyMessages = fc
      .uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 12 })
      .chain((numbers) => fc.tuple(...numbers.map((number) => anyMessage(`m${number}`))));
    fc.assert(
      fc.property(anyMessages, (given) => {
        const messages = deepFreeze(given.map(withoutLateResults));
        const [oneByOne, whole] = [appended(messages), observed(messages)];
        expect(oneByOne).toEqual(whole);
        expect(windowOf(oneByOne.transcript)).toEqual(windowOf(whole.transcript));
        expect(observeMessages(oneByOne, messages)).toMatchObject({ extent: "same", history: oneByOne });
      }),
      { numRuns: runs(400) },
    );
  });

  it("shows the same again when a batch is taken back", () => {
    fc.assert(
      fc.property(anyMoves, anyBatch, (moves, last) => {
        const before = moves.reduce(moved, EMPTY_HISTORY);
        const batches = batchOf(before, moves.length, last);
        const { history: after, dropped } = withoutBatch(edited(before, batches), batches.id);
        expect(dropped).toEqual([]);
        expect(after).toEqual(before);
      }),
      { numRuns: runs(200) },
    );
  });

  it("is the same value while nothing changes", () => {
    const history = edited(observed(transcript("u:5 a:5(bash:9) u:5")), batch("hidden", [hide("m1")]));
    const again = observeMessages(history, transcript("u:5 a:5(bash:9) u:5"));
    expect(again.extent).toBe("same");
    expect(again.history).toBe(history);
    expect(appendMessage(history, history.messages[2] as Message).history).toBe(history);
  });

  it("keeps its messages when the host gives equal ones that are other objects", () => {
    const before = observed(transcript("u:5 a:5(bash:9) u:5"));
    const grown = observeMessages(before, transcript("u:5 a:5(bash:9) u:5 a:1"));
    expect(grown).toMatchObject({ extent: "end", changed: [{ id: "m4" }], gone: [] });
    expect(shown(grown.history)[0]).toBe(shown(before)[0]);
  });

  it("keeps its messages when other batches say the same, so that nothing is measured again", () => {
    const before = edited(
      observed(transcript("u:5 a:5(bash:9) u:5 a:5(bash:9) u:5")),
      ...["m1", "m2", "m3"].map((id) => batch(`hide ${id}`, [hide(id)])),
    );
    const all = batch("all", [hide("m1"), hide("m2"), hide("m3")]);
    const { history, dropped } = withBatches(before, [all]);
    expect(dropped).toEqual([]);
    expect(history.batches).toEqual([all]);
    expect(history.transcript).toBe(before.transcript);
  });

  it("takes a message of which something arrived in the place of the old one", () => {
    const before = observed(transcript("u:5 a:5(bash?)"));
    const { history, extent, changed, gone } = observeMessages(before, transcript("u:5 a:5(bash:9)"));
    expect({ extent, changed: changed.map(({ id }) => id), gone }).toEqual({
      extent: "end",
      changed: ["m2"],
      gone: [],
    });
    expect(shown(history)[1]?.parts[1]).toMatchObject({ outcome: { status: "done" } });
  });

  it("gives a result that comes in a message of its own to the call that waits for it", () => {
    const late = transcript("u:5 a:5(bash?) u:5");
    const [, calling] = late;
    const call = calling?.parts[1];
    if (call?.type !== "tool") throw new Error("no call");
    const outcome = { status: "done", output: "late", attachments: [] } as const;
    const result: Message = { id: "r", role: "user", parts: [{ ...call, callMissing: true, outcome }] };
    const { history, changed } = appendMessage(observed(late), result);
    expect(changed.map(({ id }) => id)).toEqual(["m2"]);
    expect(history.messages).toHaveLength(3);
    expect(history.messages[1]?.parts[1]).toEqual({ ...call, outcome });
    expect(appendMessage(history, result).history.messages.at(-1)?.id).toBe("r");
  });

  it("drops a summary of messages that the owner took back, and keeps what only hides", () => {
    const summary: Message = { id: "s", role: "user", parts: [{ type: "text", text: "summed up" }] };
    const before = edited(
      observed(transcript("u:5 a:5 u:5 a:5")),
      batch("cleared", [hide("m2")]),
      batch("summary", [
        hide("m3"),
        { type: "insert-message", message: summary, after: "m3", stage: "t", reason: "t" },
      ]),
    );
    const { history, dropped, extent, gone } = observeMessages(before, transcript("u:5 a:5"));
    expect(dropped.map(({ id }) => id)).toEqual(["summary"]);
    expect(extent).toBe("rebuilt");
    expect(gone.map(({ id }) => id)).toEqual(["m3", "m4"]);
    expect(shown(history).map(({ id }) => id)).toEqual(["m1"]);
    expect(withBatch(history, before.batches[1] as EditBatch)).toBeUndefined();
  });

  it("drops with a batch those that were built on what it inserted", () => {
    const insert = (id: string, after: string): EditBatch => {
      const message: Message = { id, role: "user", parts: [{ type: "text", text: id }] };
      return batch(id, [{ type: "insert-message", message, after, stage: "t", reason: "t" }]);
    };
    const before = edited(observed(transcript("u:5 a:5")), insert("one", "m1"), insert("two", "one"));
    const { history, dropped } = withoutBatch(before, "one");
    expect(dropped.map(({ id }) => id)).toEqual(["two"]);
    expect(history.batches).toEqual([]);
    expect(history.transcript).toEqual(history.messages);
    const left = observeMessages(before, transcript("u:5 a:5").slice(1));
    expect(left.dropped.map(({ id }) => id)).toEqual(["one", "two"]);
  });

  it("a message that comes back meets the edits again that speak of it", () => {
    const hidden = edited(observed(transcript("u:5 a:5 u:5")), batch("hidden", [hide("m3")]));
    const back = observed(transcript("u:5 a:5 u:5"), observed(transcript("u:5 a:5"), hidden));
    expect(shown(back).map(({ id }) => id)).toEqual(["m1", "m2"]);
  });

  it("finds messages of the owner, and those that a batch in force inserted", () => {
    const message: Message = { id: "i", role: "user", parts: [{ type: "text", text: "in between" }] };
    const insert: Edit = { type: "insert-message", message, after: "m1", stage: "t", reason: "t" };
    const history = edited(observed(transcript("u:5 a:5 u:5")), batch("inserted", [insert]));
    expect(findMessage(history, "m3")).toBe(history.messages[2]);
    expect(findMessage(history, "i")).toEqual(message);
    expect(findMessage(observed(transcript("u:5"), history), "m3")).toBeUndefined();
  });

  it("names repeated ids apart", () => {
    const [first] = transcript("u:5");
    if (first === undefined) throw new Error("no message");
    const { messages } = observed([first, { ...first, role: "assistant" }]);
    expect(messages.map(({ id }) => id)).toEqual(["m1", "m1~2"]);
  });
});

/** Appended, a result without its call joins the call that waits for it; observed, it stays where it is. */
const withoutLateResults = (message: Message): Message => ({
  ...message,
  parts: message.parts.filter((part) => part.type !== "tool" || !part.callMissing),
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
  const callIds = ({ messages }: History) =>
    messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part.callId] : [])));
  const all = deepFreeze([calling("a", "c", "c"), calling("b", "", "c"), calling("d", "e", "")]);
  const names = ["c", "c_2", "call_1", "c_3", "e", "call_2"];

  it("get names of their own, in whatever way they come in, and keep them", () => {
    const before = observed(all.slice(0, 2), observed(all.slice(0, 1)));
    const after = observed(all, before);
    expect(callIds(after)).toEqual(names);
    expect(after.messages[1]).toBe(before.messages[1]);
    expect(observeMessages(after, all).extent).toBe("same");
    expect(callIds(appended(all))).toEqual(names);
  });

  it("have their names back when a message comes again or leaves", () => {
    const again = appended([calling("b", "x", "c")], appended(all));
    expect(callIds(again)).toEqual(["c", "c_2", "x", "c_3", "e", "call_2"]);
    expect(callIds(observed(all.slice(1), again))).toEqual(["call_1", "c", "e", "call_2"]);
  });
});
