import { describe, expect, it } from "vitest";
import { AT_MS, OWNER, runningFork } from "../../../test/rig/forks/fork-samples.ts";
import { createMemoryRecordStore } from "../../stores/memory.ts";
import { applyForkEvent } from "./advance.ts";
import type { ForkEvent } from "./events.ts";
import { DEFAULT_FORK_LIMITS } from "./limits.ts";
import type { RecordStore } from "./record-store.ts";

const cancel: ForkEvent & { readonly forkId: string } = {
  type: "cancel-asked",
  reason: "no",
  atMs: AT_MS,
  forkId: "f1",
};
const own = { instanceId: OWNER.instanceId, limits: DEFAULT_FORK_LIMITS };

async function storeWith(value: unknown): Promise<RecordStore> {
  const store = createMemoryRecordStore();
  await store.put({ id: "f1", value, expected: "missing" });
  return store;
}

describe("applyForkEvent", () => {
  it("stores the record before it gives the actions", async () => {
    const store = await storeWith(runningFork());
    const applied = await applyForkEvent(store, cancel, own);
    expect(applied).toMatchObject({ status: "applied", actions: [{ type: "abort-child", run: 1 }] });
    const found = await store.get("f1");
    expect(applied.status === "applied" && found.status === "found" && found.value).toEqual(
      applied.status === "applied" && applied.record,
    );
  });

  it("writes nothing when nothing changed", async () => {
    const store = await storeWith(runningFork());
    const before = await store.get("f1");
    const applied = await applyForkEvent(store, { type: "tick", atMs: AT_MS, forkId: "f1" }, own);
    expect(applied).toMatchObject({ status: "applied", actions: [] });
    expect(await store.get("f1")).toEqual(before);
  });

  it("leaves the fork of another to it, unless it is adopted", async () => {
    const store = await storeWith(runningFork());
    const other = { ...own, instanceId: "i2" };
    expect(await applyForkEvent(store, cancel, other)).toMatchObject({ status: "foreign" });
    const adopted = {
      type: "adopted",
      owner: { ...OWNER, instanceId: "i2" },
      atMs: AT_MS,
      forkId: "f1",
    } as const;
    expect(await applyForkEvent(store, adopted, other)).toMatchObject({ status: "applied" });
    expect(await applyForkEvent(store, cancel, own)).toMatchObject({ status: "foreign" });
    expect(await applyForkEvent(store, cancel, other)).toMatchObject({ status: "applied" });
  });

  it("gives one of two adopters the fork", async () => {
    const store = await storeWith(runningFork());
    const adopt = (instanceId: string) =>
      applyForkEvent(
        store,
        {
          type: "adopted",
          owner: { ...OWNER, instanceId },
          fromInstanceId: OWNER.instanceId,
          atMs: AT_MS,
          forkId: "f1",
        },
        { ...own, instanceId },
      );
    const [first, second] = await Promise.all([adopt("i2"), adopt("i3")]);
    expect([first.status, second.status].sort()).toEqual(["applied", "foreign"]);
  });

  it("gives no action when the record is missing, is none, or cannot be stored", async () => {
    expect(await applyForkEvent(createMemoryRecordStore(), cancel, own)).toEqual({ status: "missing" });
    expect(await applyForkEvent(await storeWith({ id: "f1" }), cancel, own)).toMatchObject({
      status: "corrupt",
    });
    const full = await storeWith(runningFork());
    const failure = { status: "failed", code: "ENOSPC", reason: "no space" } as const;
    expect(await applyForkEvent({ ...full, put: async () => failure }, cancel, own)).toEqual(failure);
    const conflict = { status: "conflict", actual: 9 } as const;
    expect(await applyForkEvent({ ...full, put: async () => conflict }, cancel, own)).toMatchObject({
      status: "failed",
      code: "CONFLICT",
    });
  });
});
