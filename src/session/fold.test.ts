import { describe, expect, it } from "vitest";
import { createSession } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { deepFreeze } from "../../test/rig/notation.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import { type Edit, hideMessage } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript } from "../transcript/message.ts";
import { FOLDED_AT_ONCE, foldHistory, UNDO_BATCHES } from "./fold.ts";
import { type EditBatch, EMPTY_HISTORY, type History, observeMessages, withBatch } from "./history.ts";
import type { Journal } from "./journal.ts";
import type { Session } from "./session.ts";

const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `src/w${(index * seed) % 89}.ts`).join(" ");

/** A conversation that is compacted again and again. */
async function talk(turns: number, journal: Journal = createMemoryJournal()) {
  const session = open(journal);
  const messages: Message[] = [];
  for (let turn = 0; turn < turns; turn++) {
    messages.push({ id: `u${turn}`, role: "user", parts: [{ type: "text", text: `question ${turn}` }] });
    messages.push({
      id: `a${turn}`,
      role: "assistant",
      finish: "stop",
      parts: [{ type: "text", text: words(turn, 300) }],
    });
    messages.push({ id: `v${turn}`, role: "user", parts: [{ type: "text", text: "and?" }] });
    session.observe(deepFreeze([...messages]));
    await session.prepare();
  }
  return { session, messages: deepFreeze(messages) };
}

function open(journal: Journal = createMemoryJournal()): Session {
  let asked = 0;
  return createSession(
    {
      clock: createFakeClock(),
      journal,
      summarizer: { summarize: async () => `## Goal\nAnswer every question, the ${++asked}th time.` },
    },
    { limits: { contextTokens: 12_000, outputTokens: 1_000 }, compaction: { reserveTokens: 2_000 } },
  );
}

describe("batches that cannot be taken back any more", () => {
  it("are one, so that what is kept does not grow with the conversation", async () => {
    // What is carried from summary to summary has its own limits, which are reached by then.
    const [short, long] = [await talk(240), await talk(320)];
    const sizes = [short, long].map(({ session }) => JSON.stringify(session).length);
    expect(long.session.ledger().filter(({ step }) => step === "compact").length).toBeGreaterThan(8);
    expect(long.session.status().batches.map(({ step }) => step)).toEqual(["folded", "compact"]);
    expect(sizes[1]).toBeLessThan(1.1 * (sizes[0] ?? 0));
  });

  it("give the same window after a restart, from the state and from either kind of journal", async () => {
    for (const keeps of ["all", "state"] as const) {
      const journal: Journal = { ...createMemoryJournal(), keeps };
      const { session, messages } = await talk(60, journal);
      const shown = JSON.stringify(session.messages());
      const fromJournal = open(journal);
      expect(await fromJournal.restore(messages)).toMatchObject({ dropped: 0, unreadable: 0 });
      expect(JSON.stringify(fromJournal.messages())).toBe(shown);
      const fromState = open();
      await fromState.restore(messages, JSON.parse(JSON.stringify(session)));
      expect(JSON.stringify(fromState.messages())).toBe(shown);
      expect(JSON.stringify(fromState)).toBe(JSON.stringify(session));
    }
  });

  it("are those up to the compaction before the newest: everything since can be undone, one by one", async () => {
    const { session, messages } = await talk(60);
    const unfolded = session.status().batches.length - 1;
    const windows = [session.messages()];
    for (let count = 0; count < unfolded; count++) {
      expect((await session.undo()).status).toBe("undone");
      windows.push(session.messages());
    }
    expect(await session.undo()).toEqual({ status: "nothing" });
    expect(windows[1]?.length).toBeGreaterThan((windows[0] as Transcript).length);
    expect(session.messages()[1]?.parts[0]).toMatchObject({ text: expect.stringContaining("## Goal") });
    expect(session.messages().at(-1)).toEqual(messages.at(-1));
  });

  it("leave what they hid to be recalled, from the messages themselves", async () => {
    const { session } = await talk(60);
    expect(await session.recall("a3")).toMatchObject({ status: "found", text: words(3, 300) });
    expect(await session.recall({ search: "question 17" })).toMatchObject({
      status: "matches",
      pieces: [expect.objectContaining({ handle: "u17/0" })],
    });
  });

  it("are dropped together when a message that they hid is gone", async () => {
    const { session, messages } = await talk(60);
    session.observe(messages.slice(2));
    expect(session.messages()).toEqual(messages.slice(2));
    expect(session.status().batches).toEqual([]);
  });

  it("leave the place of a replaced summary behind which a newer one stands", () => {
    const text = (id: string): Message => ({ id, role: "user", parts: [{ type: "text", text: id }] });
    const carried = { generation: 1, userWords: [], pins: [], filesRead: [], filesChanged: [], keyFacts: [] };
    const why = { stage: "compaction", reason: "summarized" };
    const compaction = (id: string, gone: string, after: string) => ({
      id,
      step: "compact",
      reason: "threshold",
      at: 1,
      edits: [
        hideMessage(text(gone), why),
        { type: "insert-message" as const, message: { ...text(id), metadata: { carried } }, after, ...why },
      ],
    });
    const before = historyOf(["m0", "m1", "m2"].map(text), [
      compaction("s1", "m0", "m0"),
      compaction("s2", "s1", "s1"),
      compaction("s3", "s2", "s1"),
    ]);
    expect(before.batches).toHaveLength(3);
    expect(visibleOf(before).map(({ id }) => id)).toEqual(["s3", "m1", "m2"]);
    const after = foldHistory(before);
    expect(after.batches.map(({ step }) => step)).toEqual(["folded", "compact"]);
    expect(visibleOf(after)).toEqual(visibleOf(before));
  });

  it("are the oldest of many small ones, too", () => {
    const before = historyOf(SOURCE, numbered(UNDO_BATCHES + FOLDED_AT_ONCE + 1).map(smallBatch));
    const after = foldHistory(before);
    expect(after.batches).toHaveLength(UNDO_BATCHES + 1);
    expect(visibleOf(after)).toEqual(visibleOf(before));
    expect(foldHistory(after)).toBe(after);
  });

  it("are fewer at once where they are large", () => {
    const before = historyOf(SOURCE, numbered(2 * UNDO_BATCHES + 1).map(largeBatch));
    expect(foldHistory(before).batches).toHaveLength(UNDO_BATCHES + 1);
  });

  it("are folded the more at once the more there are, so that folding costs no more than the edits themselves", () => {
    const source = Array.from(
      { length: 6_000 },
      (_, index): Message => ({ ...(SOURCE[0] as Message), id: `n${index}` }),
    );
    let history = historyOf(source, []);
    let foldedEdits = 0;
    for (let count = 0; count < 1_000; count++) {
      const why = { stage: "test", reason: "pruned" };
      const edits = source.slice(count * 6, count * 6 + 6).map((message) => hideMessage(message, why));
      const before = edited(history, { id: `b${count}`, step: "prune", reason: "pays", at: count, edits });
      history = foldHistory(before);
      if (history !== before) foldedEdits += history.batches[0]?.edits.length ?? 0;
    }
    expect(history.batches[0]?.edits.length).toBeGreaterThan(4_000);
    expect(foldedEdits).toBeLessThan(5 * 6_000);
    expect(history.batches.length).toBeLessThan(250);
  });

  it("are the same whether they are read at once, as after a restart, or came one by one", () => {
    const batches = numbered(UNDO_BATCHES + 2 * FOLDED_AT_ONCE + 3).map((count) =>
      count % 50 < 30 ? largeBatch(count) : smallBatch(count),
    );
    const oneByOne = batches.reduce(
      (history, batch) => foldHistory(edited(history, batch)),
      historyOf(SOURCE, []),
    );
    const atOnce = foldHistory(historyOf(SOURCE, batches));
    expect(atOnce).toEqual(oneByOne);
  });
});

const numbered = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

const historyOf = (messages: Transcript, batches: readonly EditBatch[]): History =>
  batches.reduce(edited, observeMessages(EMPTY_HISTORY, messages).history);

function edited(history: History, batch: EditBatch): History {
  const after = withBatch(history, batch);
  if (after === undefined) throw new Error(`${batch.id} cannot be applied`);
  return after;
}

const visibleOf = ({ transcript }: History): Transcript => transcript.filter(isVisibleToModel);

const SOURCE: Transcript = Array.from({ length: 500 }, (_, index) => ({
  id: `m${index}`,
  role: index % 2 === 0 ? "user" : "assistant",
  parts: [{ type: "text", text: `message ${index}` }],
}));

/** Hides one message. */
function smallBatch(count: number): EditBatch {
  const edits = [hideMessage(SOURCE[count * 3] as Message, { stage: "test", reason: "pruned" })];
  return { id: `b${count}`, step: "prune", reason: "pays", at: count, edits };
}

/** Hides one message in many ways. */
function largeBatch(count: number): EditBatch {
  const [edit] = smallBatch(count).edits;
  return { ...smallBatch(count), edits: Array.from({ length: 11 }, () => edit as Edit) };
}
