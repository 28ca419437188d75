import { describe, expect, it, onTestFinished } from "vitest";
import { completedFork, runningFork, sampleFork } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import { createTestForks } from "../../../test/rig/plugin-forks.ts";
import type { HostAnswer } from "../../hosts/opencode/sessions.ts";
import { createForkAdoption, createForkClockFeature, KEPT_MS, rebuildForks } from "./clock.ts";

const START = { event: { type: "server.connected", properties: {} } };

function createClock() {
  const { context, logged } = createTestContext();
  const forks = createTestForks(context);
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

describe("rebuild forks", () => {
  const BOND = { id: "f9", root: "root", parent: "parent", run: 1, way: "text", number: 3 };
  const SESSION = {
    id: "child",
    title: "Fork 3: look",
    time: { created: 1, updated: Date.now() },
    metadata: { carryover: BOND },
  };

  function createInstance(answer: HostAnswer) {
    const { context, logged } = createTestContext({ answer });
    const forks = createTestForks(context);
    const rebuild = async () => {
      const listed = await forks.store.list();
      if (listed.status === "failed") throw new Error(listed.reason);
      return rebuildForks({ context, forks, listed, sinceMs: 0 });
    };
    return { forks, logged, rebuild };
  }

  describe("a fork whose record is lost", () => {
    it("is made again with the number that its parent knows", async () => {
      const { forks, logged, rebuild } = createInstance({ status: "ok", body: [SESSION] });
      expect(await rebuild()).toBe("done");
      expect(forks.keeper.get("f9")).toMatchObject({ number: 3, title: "look", childSessionId: "child" });
      expect(logged).toEqual(["the record of fork 3 was lost and was rebuilt from its session"]);
      expect(await forks.numbers.take("root")).toBe(4);
    });

    it("gets the next number where its own is taken, or not known", async () => {
      const { number: _, ...unnumbered } = BOND;
      const old = { ...SESSION, id: "old", metadata: { carryover: { ...unnumbered, id: "f8" } } };
      const { forks, rebuild } = createInstance({ status: "ok", body: [SESSION, old] });
      const stored = sampleFork({ id: "f2", number: 3 });
      await forks.store.put({ id: "f2", value: stored, expected: "missing" });
      await rebuild();
      expect([forks.keeper.get("f9")?.number, forks.keeper.get("f8")?.number]).toEqual([4, 5]);
    });

    it("is looked for again when the host did not answer", async () => {
      const { forks, rebuild } = createInstance({ status: "failed", code: "no-answer", reason: "busy" });
      expect(await rebuild()).toBe("not-done");
      expect(forks.keeper.all()).toEqual([]);
    });
  });
});
