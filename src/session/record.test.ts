import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { step, user } from "../../test/rig/session.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import type { Transcript } from "../transcript/message.ts";
import { readRecord } from "./record.ts";
import { createSession } from "./session.ts";

const EDIT = { type: "hide-message", messageId: "s1", stage: "prune", reason: "pruned" } as const;
const FIGURES = { id: "b1", step: "prune", reason: "pays", at: 1, tokensBefore: 9, tokensAfter: 4 } as const;
const OLDER = {
  ...{ v: 1, type: "batch", ...FIGURES, arithmetic: { cache: "warm" } },
  edits: [{ edit: EDIT, savedTokens: 5, handle: "s1" }],
};

describe("a record", () => {
  it("of an older journal, with what was computed of each edit, is read as one of today", async () => {
    expect(readRecord(OLDER)).toEqual({ v: 2, type: "delta", ...FIGURES, edits: [EDIT] });
    const journal = createMemoryJournal();
    await journal.append(OLDER);
    const session = createSession({ clock: createFakeClock(), journal });
    const messages = [user("u", "go"), step("s1", "one"), step("s2", "two"), user("u2", "on")];
    expect(await session.restore(messages)).toMatchObject({ batches: 1, dropped: 0, unreadable: 0 });
    expect(session.messages().map(({ id }) => id)).toEqual(["u", "s2", "u2"]);
  });

  it.each([
    { v: 2, type: "delta", ...FIGURES, edits: [EDIT] },
    OLDER,
    { v: 2, type: "snapshot", at: 1, state: { v: 2, batches: [] }, ledger: [] },
    { v: 1, type: "undo", batchId: "b1", at: 1 },
    { v: 1, type: "drop", batchId: "b1", at: 1 },
    { v: 1, type: "thoughts", at: 1, thoughts: { bound: [] } },
    { v: 1, type: "windows", at: 1, windows: [] },
    { ...{ v: 1, type: "step", step: "prune", reason: "pays", outcome: "nothing" }, ...FIGURES },
    {
      v: 1,
      type: "pending-summary",
      at: 1,
      results: [{ messageId: "s1", partIndex: 0, callId: "c", tool: "t" }],
    },
  ])("carries the rest of the state through: $type", (record) => {
    expect(readRecord({ ...record, rest: { turn: 7 } })).toMatchObject({ rest: { turn: 7 } });
    expect(readRecord(record)).not.toHaveProperty("rest");
  });
});

it("a journal that keeps all has snapshots too, and they are at most twice as long as the rest of it", async () => {
  const journal = createMemoryJournal();
  const session = createSession({ clock: createFakeClock(), journal }, { limits: { contextTokens: 12_000 } });
  await session.restore([]);
  const messages: Transcript[number][] = [user("u", "Read every file.")];
  for (let number = 0; number < 400; number++) {
    messages.push(step(`s${number}`, `file ${number} ${"words ".repeat(300 + (number % 7) * 200)}`));
    session.observe([...messages]);
    await session.prepare({ moment: "after-turn" });
  }
  const { entries } = await journal.read();
  const sizes = { snapshot: 0, other: 0, snapshots: 0 };
  for (const { value } of entries) {
    const isSnapshot = (value as { type: string }).type === "snapshot";
    sizes[isSnapshot ? "snapshot" : "other"] += JSON.stringify(value).length;
    if (isSnapshot) sizes.snapshots++;
  }
  expect(sizes.snapshots).toBeGreaterThan(1);
  expect(sizes.snapshot).toBeLessThan(2 * sizes.other);
});
