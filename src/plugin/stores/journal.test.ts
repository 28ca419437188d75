import { appendFileSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { listPluginJournals, readPluginJournal } from "./journal.ts";

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
