import { describe, expect, it } from "vitest";
import { completedFork } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createTestForks } from "../../../test/rig/plugin-forks.ts";
import { createForkAdoption, KEPT_MS } from "./adopt.ts";

function createInstance() {
  const { context, logged } = createTestContext();
  let nowMs = Date.now();
  const timed = { ...context, now: () => nowMs };
  const forks = createTestForks(timed);
  const stored = async (): Promise<readonly string[]> => {
    const listed = await forks.store.list();
    return listed.status === "listed" ? listed.records.map(({ id }) => id) : [];
  };
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { forks, logged, stored, pass, left: createForkAdoption({ context: timed, forks }) };
}

describe("what a program that runs for weeks keeps", () => {
  it("is a fork that is over, until it is old", async () => {
    const { forks, left, pass, stored } = createInstance();
    const record = completedFork({ owner: forks.owner() });
    const ended = record.runs.map((run) => ("endedAtMs" in run ? { ...run, endedAtMs: Date.now() } : run));
    await forks.keeper.add({ record: { ...record, runs: ended } });
    await left.takeUnfinished();
    expect(await stored()).toEqual(["f1"]);
    pass(KEPT_MS + 60_000);
    await left.takeUnfinished();
    expect(await stored()).toEqual([]);
    expect(forks.keeper.all()).toEqual([]);
  });

  it("is the newest number of a root, until the root has no fork for as long", async () => {
    const { forks, left, pass, stored } = createInstance();
    await forks.numbers.take("root");
    await left.takeUnfinished();
    expect(await stored()).toEqual(["numbers-root"]);
    pass(KEPT_MS + 60_000);
    await left.takeUnfinished();
    expect(await stored()).toEqual([]);
  });
});

it("says so when the records cannot be read", async () => {
  const { context, logged } = createTestContext();
  const failed = async () => ({ status: "failed", code: "EIO", reason: "no disk" }) as const;
  const forks = createTestForks(context);
  const left = createForkAdoption({ context, forks: { ...forks, store: { ...forks.store, list: failed } } });
  expect(await left.takeUnfinished()).toBeUndefined();
  expect(logged).toEqual(["the records of forks cannot be read: no disk"]);
});
