import { appendFileSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createMemoryJournal } from "../../stores/memory.ts";
import {
  batchesInForce,
  createEngineJournal,
  editsInForce,
  listPluginJournals,
  readPluginJournal,
  undoInJournal,
} from "./journal.ts";

const BATCH = { v: 1, type: "batch", step: "prune", reason: "pays", at: 1, tokensBefore: 9, tokensAfter: 4 };
const engine = (record: object, sessionId = "ses_1") => ({ atMs: 1, sessionId, type: "engine", record });

it("gives typed entries, and keeps what it does not know under its name", async () => {
  const { context, entries } = createTestContext();
  const journal = context.journal("ses_1");
  for (const value of [
    { atMs: 5, sessionId: "ses_1", type: "request", model: "p/m", inputTokens: 7, costUSD: "odd" },
    { atMs: 6, sessionId: "ses_1", type: "fork", fork: "fk_1", number: 1, run: 1, state: "running" },
    { atMs: 7, sessionId: "ses_1", type: "pins-kept", batches: ["b1", 5] },
    { atMs: 8, sessionId: "ses_1", type: "from-the-future", more: 1 },
    engine({ v: 2 }),
    "nonsense",
    null,
  ]) {
    await journal.append(value);
  }
  expect(await entries("ses_1")).toMatchObject([
    { type: "request", atMs: 5, model: "p/m", inputTokens: 7, outputTokens: 0, costUSD: 0 },
    { type: "fork", fork: "fk_1", state: "running", because: "" },
    { type: "pins-kept", batches: ["b1"] },
    { type: "other", name: "from-the-future", value: { more: 1 } },
    { type: "other", name: "engine" },
    { type: "other", name: "" },
    { type: "other", name: "" },
  ]);
});

it("reports damage beside what it could read", async () => {
  const { context } = createTestContext();
  const folder = context.folders.journal;
  await context.journal("ses_1").append({ atMs: 5, sessionId: "ses_1", type: "request" });
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  appendFileSync(join(folder, file), "damaged\n");
  const { entries, problems } = await readPluginJournal({ folder, rootSessionId: "ses_1" });
  expect(entries).toHaveLength(1);
  expect(problems).toMatchObject([{ type: "bad-line" }]);
});

it("lists the sessions that have a log, the newest first", async () => {
  const { context } = createTestContext();
  const folder = context.folders.journal;
  mkdirSync(folder);
  for (const [name, atS] of [
    ["ses_old.1-1-1.jsonl", 100],
    ["ses_new.1-1-1.jsonl", 300],
    ["ses_old.2-2-1.jsonl", 200],
    ["something else", 400],
  ] as const) {
    writeFileSync(join(folder, name), "");
    utimesSync(join(folder, name), atS, atS);
  }
  expect(await listPluginJournals(folder)).toEqual([
    { rootSessionId: "ses_new", writtenAtMs: 300_000, writtenIn: "this-home" },
    { rootSessionId: "ses_old", writtenAtMs: 200_000, writtenIn: "this-home" },
  ]);
  expect(await listPluginJournals(join(folder, "gone"))).toEqual([]);
});

it("knows which batches are in force, and takes the last back where no plugin runs", async () => {
  const { context, entries } = createTestContext();
  const journal = context.journal("ses_1");
  await journal.append(engine({ ...BATCH, id: "b1", edits: [] }));
  await journal.append(engine({ ...BATCH, id: "b2", edits: [] }));
  await journal.append(engine({ ...BATCH, id: "b1", edits: [] }, "ses_child"));
  await journal.append(engine({ v: 1, type: "undo", batchId: "b2", at: 2 }));
  const inForce = batchesInForce(await entries("ses_1"));
  expect(inForce.map(({ sessionId, batch }) => `${sessionId}/${batch.id}`)).toEqual([
    "ses_1/b1",
    "ses_child/b1",
  ]);
  const [undone] = editsInForce(await entries("ses_1"));
  if (undone === undefined) throw new Error("none in force");
  expect(await undoInJournal(journal, { undone, atMs: 3 })).toBeUndefined();
  expect(batchesInForce(await entries("ses_1")).map(({ sessionId }) => sessionId)).toEqual(["ses_child"]);
});

it("takes a snapshot in place of what one session did before, with what the folded batches have saved", async () => {
  const { context, entries } = createTestContext();
  const journal = context.journal("ses_1");
  const hide = {
    type: "hide-run",
    first: "m1",
    last: "m3",
    count: 3,
    hash: 7,
    stage: "prune",
    reason: "pruned",
  };
  for (const id of ["b1", "b2", "b3"])
    await journal.append(engine({ ...BATCH, v: 2, type: "delta", id, edits: [hide] }));
  await journal.append(engine({ ...BATCH, id: "b1", edits: [] }, "ses_child"));
  const named = (id: string, step: string) => ({ id, step, reason: "pays", at: 1, edits: [hide] });
  const batches = [named("b2", "folded"), named("b3", "prune")];
  await journal.append(engine({ v: 2, type: "snapshot", at: 2, state: { v: 2, batches }, ledger: [] }));
  expect(editsInForce(await entries("ses_1"))).toMatchObject([
    { sessionId: "ses_child", id: "b1", savedTokens: 5 },
    { id: "b2", edits: 3, savedTokens: 10, canBeTakenBack: false },
    { id: "b3", edits: 3, savedTokens: 5, canBeTakenBack: true },
  ]);
});

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
