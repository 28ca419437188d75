import { describe, expect, it } from "vitest";
import {
  AT_MS,
  completedFork,
  OWNER,
  runningFork,
  sampleFork,
} from "../../../test/rig/forks/fork-samples.ts";
import type { ForkAction } from "../../fork/life/events.ts";
import { FORK_LIMIT_SHAPE, forkLimits } from "../../fork/life/limits.ts";
import { currentRun, type ForkOwner } from "../../fork/life/record.ts";
import type { RecordStore } from "../../fork/life/record-store.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { createMemoryRecordStore } from "../../stores/memory/record-store.ts";
import { defaultsOf } from "../../text/check.ts";
import { createForkKeeper, type ForkKeeper } from "./keeper.ts";

const OTHER: ForkOwner = { ...OWNER, instanceId: "i2" };
const SENT = { type: "delivery-sent", run: 1, way: "prompt" } as const;
// In pieces, so that no scanner takes it for a key.
const KEY = ["sk", "proj", "q7Zp4Lm9Xv2Bn6Rt8Ws1Yc3Kd5Hf0Jg4Aa7Ee"].join("-");
const FULL = { status: "failed", code: "ENOSPC", reason: "no space left" } as const;

interface Setup {
  readonly store?: RecordStore;
  readonly owner?: ForkOwner;
}

function createKeeper({ store = createMemoryRecordStore(), owner = OWNER }: Setup = {}) {
  const performed: ForkAction["type"][] = [];
  const logged: string[] = [];
  const toasts: string[] = [];
  const keeper: ForkKeeper = createForkKeeper({
    context: {
      now: () => AT_MS,
      record: () => {},
      redaction: {},
      notify: {
        toast: () => {},
        toastOf: () => {},
        toastOnce: () => {},
        logOnce: () => {},
        log: (_, message) => void logged.push(message),
      },
    },
    store,
    limits: forkLimits(defaultsOf(FORK_LIMIT_SHAPE)),
    owner: () => owner,
    perform(_, action) {
      performed.push(action.type);
      if (action.type === "toast") toasts.push(action.text);
    },
  });
  return { keeper, store, performed, logged, toasts };
}

/** A store whose next writes go wrong: some do not arrive, some arrive and say that they did not. */
function createFaultyStore() {
  const inner = createMemoryRecordStore();
  const faults: ("lost" | "arrives")[] = [];
  const store: RecordStore = {
    ...inner,
    async put(write) {
      const fault = faults.shift();
      if (fault !== "lost") await inner.put(write);
      return fault === undefined ? { status: "stored", version: await versionIn(inner, write.id) } : FULL;
    },
  };
  return { store, faults };
}

async function versionIn(store: RecordStore, id: string): Promise<number> {
  const found = await store.get(id);
  if (found.status !== "found") throw new Error(`${id} is ${found.status}`);
  return found.version;
}

async function storedIn(store: RecordStore, id = "f1") {
  const found = await store.get(id);
  return found.status === "found" ? readForkRecord(found.value) : undefined;
}

describe("a provider's error", () => {
  const error = { kind: "auth", message: `Incorrect API key provided: ${KEY}.` };
  it.each([
    { name: "told by the agent", event: { type: "child-failed", error } },
    {
      name: "found in the child",
      event: {
        type: "child-checked",
        run: 1,
        finding: { type: "failed", error, lastText: "", changedFiles: [] },
      },
    },
  ] as const)("$name is kept and shown without the key that it quotes", async ({ event }) => {
    const { keeper, toasts } = createKeeper();
    await keeper.add({ record: runningFork() });
    const told = await keeper.dispatch("f1", event);
    expect(JSON.stringify(told?.record)).toContain("Incorrect API key provided");
    expect(JSON.stringify(told?.record) + toasts.join()).not.toContain(KEY);
  });
});

describe("a call of the child", () => {
  const call = { type: "tool-called", callId: "c", hash: "h" } as const;

  it("is stored at once: a crash may come with it", async () => {
    const store = createMemoryRecordStore();
    const { keeper } = createKeeper({ store });
    await keeper.add({ record: runningFork() });
    await keeper.dispatch("f1", call);
    expect(await storedIn(store)).toEqual(keeper.get("f1"));
    expect(await storedIn(store)).not.toEqual(runningFork());
  });

  it("of many at once is stored with the last of them: a write for each took longer than a hook may", async () => {
    const store = createMemoryRecordStore();
    let writes = 0;
    const put: typeof store.put = (request) => {
      writes++;
      return store.put(request);
    };
    const { keeper } = createKeeper({ store: { ...store, put } });
    await keeper.add({ record: runningFork() });
    const calls = Array.from({ length: 150 }, (_, index) => ({
      ...call,
      callId: `c${index}`,
      hash: `h${index}`,
    }));
    await Promise.all(calls.map((each) => keeper.dispatch("f1", each)));
    expect((await storedIn(store))?.runs[0]?.calls.total).toBe(150);
    expect(writes).toBeLessThan(5);
  });

  it("counts also where that cannot be stored", async () => {
    const { store, faults } = createFaultyStore();
    const { keeper } = createKeeper({ store });
    await keeper.add({ record: runningFork() });
    faults.push("lost");
    expect(await keeper.dispatch("f1", call)).toBeDefined();
    expect(keeper.get("f1")).not.toEqual(runningFork());
  });
});

describe("an event whose record cannot be stored", () => {
  it("leads to no action and no change, and can be told again", async () => {
    const { store, faults } = createFaultyStore();
    const { keeper, performed, logged } = createKeeper({ store });
    await keeper.add({ record: sampleFork() });
    faults.push("lost", "lost");
    expect(await keeper.dispatch("f1", { type: "slot-given" })).toBeUndefined();
    expect(await keeper.dispatch("f1", { type: "slot-given" })).toBeUndefined();
    expect(performed).toEqual([]);
    expect(keeper.get("f1")).toEqual(sampleFork());
    expect(logged).toEqual(["fork 1 could not be stored: no space left"]);
    const told = await keeper.dispatch("f1", { type: "slot-given" });
    expect(told && currentRun(told.record).state).toBe("starting");
    expect(performed).toEqual(["create-child", "toast"]);
  });

  it("is found out when the write had arrived after all", async () => {
    const { store, faults } = createFaultyStore();
    const { keeper } = createKeeper({ store });
    await keeper.add({ record: completedFork() });
    faults.push("arrives");
    expect(await keeper.dispatch("f1", SENT)).toBeUndefined();
    const again = await keeper.dispatch("f1", SENT);
    expect(again?.record).toBe(again?.before);
    expect(again?.record.runs[0]).toMatchObject({ delivery: { state: "sent", sends: 1 } });
  });

  it("keeps a new fork whose write had arrived after all", async () => {
    const { store, faults } = createFaultyStore();
    faults.push("arrives");
    const { keeper } = createKeeper({ store });
    expect(await keeper.add({ record: sampleFork() })).toBe("kept");
    expect(await keeper.dispatch("f1", { type: "slot-given" })).toBeDefined();
    expect((await storedIn(store))?.runs[0]?.state).toBe("starting");
  });

  it("never starts a fork later of which it was said that it is not started", async () => {
    const { store, faults } = createFaultyStore();
    let isReadable = false;
    const get: RecordStore["get"] = async (id) => (isReadable ? store.get(id) : FULL);
    const { keeper } = createKeeper({ store: { ...store, get } });
    faults.push("arrives");
    expect(await keeper.add({ record: sampleFork() })).toBe("not-kept");
    isReadable = true;
    expect(await keeper.adopt(sampleFork(), await versionIn(store, "f1"))).toBeUndefined();
    expect(keeper.all()).toEqual([]);
    expect((await store.get("f1")).status).toBe("missing");
  });

  it("leaves a new fork unkept", async () => {
    const { store, faults } = createFaultyStore();
    faults.push("lost");
    const { keeper } = createKeeper({ store });
    expect(await keeper.add({ record: sampleFork() })).toBe("not-kept");
    expect(keeper.all()).toEqual([]);
  });
});

describe("a fork that another instance has taken", () => {
  it("is dropped, with nothing done", async () => {
    const mine = createKeeper();
    await mine.keeper.add({ record: completedFork() });
    const other = createKeeper({ store: mine.store, owner: OTHER });
    await other.keeper.adopt(completedFork(), await versionIn(mine.store, "f1"));
    expect(await mine.keeper.dispatch("f1", SENT)).toBeUndefined();
    expect(mine.keeper.all()).toEqual([]);
    const sent = await other.keeper.dispatch("f1", SENT);
    expect(sent?.record).not.toBe(sent?.before);
  });

  it("goes to one of several who want it", async () => {
    const store = createMemoryRecordStore();
    await createKeeper({ store }).keeper.add({ record: runningFork() });
    const version = await versionIn(store, "f1");
    const rivals = ["i2", "i3", "i4"].map((instanceId) =>
      createKeeper({ store, owner: { ...OWNER, instanceId } }),
    );
    const taken = await Promise.all(rivals.map(({ keeper }) => keeper.adopt(runningFork(), version)));
    expect(taken.filter((record) => record !== undefined)).toHaveLength(1);
    expect(rivals.flatMap(({ keeper }) => keeper.all())).toHaveLength(1);
    expect(rivals.flatMap(({ performed }) => performed)).toEqual(["check-child"]);
  });

  it("is kept by who wants it twice at the same time", async () => {
    const store = createMemoryRecordStore();
    await createKeeper({ store }).keeper.add({ record: runningFork() });
    const version = await versionIn(store, "f1");
    const { keeper, performed } = createKeeper({ store, owner: OTHER });
    await Promise.all([1, 2].map(() => keeper.adopt(runningFork(), version)));
    await keeper.adopt(runningFork(), version);
    expect(keeper.get("f1")?.owner.instanceId).toBe("i2");
    expect(performed).toEqual(["check-child"]);
  });

  it("is never taken by an event that is not about taking it", async () => {
    const store = createMemoryRecordStore();
    await createKeeper({ store }).keeper.add({ record: completedFork() });
    const other = createKeeper({ store, owner: OTHER });
    expect(await other.keeper.dispatch("f1", SENT)).toBeUndefined();
    expect((await storedIn(store))?.owner).toEqual(OWNER);
  });

  it("can be taken back by who had it, in place of what they remember", async () => {
    const mine = createKeeper();
    await mine.keeper.add({ record: completedFork() });
    const other = createKeeper({ store: mine.store, owner: OTHER });
    await other.keeper.adopt(completedFork(), await versionIn(mine.store, "f1"));
    await other.keeper.dispatch("f1", SENT);
    const stored = await storedIn(mine.store);
    if (stored === undefined) throw new Error("Nothing is stored");
    await mine.keeper.adopt(stored, await versionIn(mine.store, "f1"));
    expect(mine.keeper.get("f1")?.runs[0]).toMatchObject({ delivery: { state: "sent", isUnsure: true } });
    expect(mine.keeper.all()).toHaveLength(1);
  });
});

describe("what comes with every step of a child", () => {
  it("is not lost when 20 events come at once", async () => {
    const { keeper, store } = createKeeper();
    await keeper.add({ record: runningFork() });
    const callIds = Array.from({ length: 20 }, (_, index) => `c${index}`);
    await Promise.all(
      callIds.map((callId) => keeper.dispatch("f1", { type: "tool-called", callId, hash: callId })),
    );
    await keeper.flush();
    const stored = await storedIn(store);
    expect(stored && currentRun(stored).calls.total).toBe(20);
  });

  it("is counted at once and stored later", async () => {
    const { keeper, store } = createKeeper();
    await keeper.add({ record: runningFork() });
    for (const steps of [1, 2, 3])
      await keeper.dispatch("f1", { type: "spent", costUSD: 0, tokens: 0, steps });
    expect(keeper.get("f1")?.spent.steps).toBe(3);
    expect((await storedIn(store))?.spent.steps).toBe(0);
    await keeper.flush();
    expect((await storedIn(store))?.spent.steps).toBe(3);
  });

  it("is not lost by a write that failed", async () => {
    const { store, faults } = createFaultyStore();
    const { keeper } = createKeeper({ store });
    await keeper.add({ record: runningFork() });
    await keeper.dispatch("f1", { type: "tool-called", callId: "a", hash: "a" });
    faults.push("lost");
    await keeper.flush();
    await keeper.flush();
    expect((await storedIn(store))?.runs[0]?.calls.total).toBe(1);
  });
});

it("a fork that is removed is gone from the store too, and hears of nothing any more", async () => {
  const { keeper, store } = createKeeper();
  await keeper.add({ record: completedFork() });
  await keeper.remove("f1");
  expect(keeper.all()).toEqual([]);
  expect(keeper.ofChild("child")).toBeUndefined();
  expect((await store.get("f1")).status).toBe("missing");
  expect(await keeper.dispatch("f1", SENT)).toBeUndefined();
});

it("a record that was deleted or damaged meanwhile is stored again", async () => {
  const { keeper, store } = createKeeper();
  await keeper.add({ record: completedFork() });
  await store.delete("f1", await versionIn(store, "f1"));
  expect(await keeper.dispatch("f1", SENT)).toBeDefined();
  expect((await storedIn(store))?.runs[0]).toMatchObject({ delivery: { state: "sent" } });
});
