import { expect, it } from "vitest";
import { createMemoryJournal } from "../../stores/memory/journal.ts";
import { createEngineJournal } from "./engine-journal.ts";

it("gives each session its own records out of the log of the root, and nothing else of it", async () => {
  const root = createMemoryJournal();
  const of = (sessionId: string) =>
    createEngineJournal({ journal: async () => root, sessionId, now: () => 7 });
  await of("parent").append({ v: 1, type: "undo", batchId: "b1", at: 1 });
  await root.append({ atMs: 1, sessionId: "parent", type: "request" });
  await root.append("nonsense");
  await of("child").append({ v: 1, type: "undo", batchId: "b2", at: 1 });
  const { entries } = await of("parent").read();
  expect(entries.map(({ value }) => value)).toEqual([{ v: 1, type: "undo", batchId: "b1", at: 1 }]);
  expect((await root.read()).entries[0]?.value).toMatchObject({
    atMs: 7,
    sessionId: "parent",
    type: "engine",
  });
});

it("reports a failure of the log as a value", async () => {
  const failed = { status: "failed", code: "ENOSPC", reason: "full" } as const;
  const journal = createEngineJournal({
    journal: async () => ({ append: async () => failed, read: async () => ({ entries: [], problems: [] }) }),
    sessionId: "s",
    now: () => 0,
  });
  expect(await journal.append({})).toEqual(failed);
});
