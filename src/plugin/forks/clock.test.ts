import { describe, expect, it, onTestFinished } from "vitest";
import { completedFork, runningFork } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import { createForkAdoption, KEPT_MS } from "./adopt-forks.ts";
import { createForkClockFeature } from "./clock.ts";
import { createForks } from "./forks.ts";

const START = { event: { type: "server.connected", properties: {} } };

function createClock() {
  const { context, logged } = createTestContext();
  const forks = createForks(context);
  let isFull = false;
  const store = {
    ...forks.store,
    put: (async (write) =>
      isFull
        ? { status: "failed", code: "ENOSPC", reason: "no space left" }
        : forks.store.put(write)) as typeof forks.store.put,
  };
  let nowMs = Date.now();
  const timed = { ...context, now: () => nowMs };
  const hooks = hooksOf([createForkClockFeature({ context: timed, forks: { ...forks, store } })]);
  onTestFinished(async () => hooks.dispose?.());
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  const fill = (): void => {
    isFull = true;
  };
  return { forks, hooks, logged, pass, fill };
}

describe("the clock of the forks", () => {
  it("gives signs of life while a fork runs, and takes the last one back when it ends", async () => {
    const { forks, hooks } = createClock();
    await forks.keeper.add({ record: runningFork({ owner: forks.owner() }) });
    await hooks.event?.(START);
    const id = `instance-${forks.owner().instanceId}`;
    expect((await forks.store.get(id)).status).toBe("found");
    await hooks.dispose?.();
    expect((await forks.store.get(id)).status).toBe("missing");
  });

  it("says once that it could not, not every few seconds", async () => {
    const { forks, hooks, logged, pass, fill } = createClock();
    await forks.keeper.add({ record: runningFork({ owner: forks.owner() }) });
    fill();
    await hooks.event?.(START);
    const warnings = () => logged.filter((line) => line.includes("sign of life"));
    expect(warnings()).toHaveLength(1);
    pass(20_000);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(warnings()).toHaveLength(1);
  });
});

function createInstance() {
  const { context, logged } = createTestContext();
  let nowMs = Date.now();
  const timed = { ...context, now: () => nowMs };
  const forks = createForks(timed);
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
  it("is a fork that is over, for 14 days", async () => {
    const { forks, left, pass, stored } = createInstance();
    const record = completedFork({ owner: forks.owner() });
    const ended = record.runs.map((run) => ("endedAtMs" in run ? { ...run, endedAtMs: Date.now() } : run));
    await forks.keeper.add({ record: { ...record, runs: ended } });
    await left.takeUnfinished();
    expect(await stored()).toEqual(["f1"]);
    pass(14 * 86_400_000 - 60_000);
    await left.takeUnfinished();
    expect(await stored()).toEqual(["f1"]);
    pass(120_000);
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
  const forks = createForks(context);
  const left = createForkAdoption({ context, forks: { ...forks, store: { ...forks.store, list: failed } } });
  expect(await left.takeUnfinished()).toBeUndefined();
  expect(logged).toEqual(["the records of forks cannot be read: no disk"]);
});
