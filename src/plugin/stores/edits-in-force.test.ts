import { expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { batchesInForce, editsInForce, undoInJournal } from "./edits-in-force.ts";

const BATCH = { v: 1, type: "batch", step: "prune", reason: "pays", at: 1, tokensBefore: 9, tokensAfter: 4 };

const engine = (record: object, sessionId = "ses_1") => ({ atMs: 1, sessionId, type: "engine", record });

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
