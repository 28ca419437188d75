import { describe, expect, it } from "vitest";
import { completedFork, OWNER, runningFork } from "../../../../test/rig/forks/fork-samples.ts";
import { createTestContext, hooksOf } from "../../../../test/rig/plugin-context.ts";
import type { ForkRecord } from "../../../fork/life/record.ts";
import { createForks } from "../forks.ts";
import { createChildEventsFeature } from "./events.ts";

async function createInstance() {
  const { context } = createTestContext();
  const forks = createForks(context);
  const hooks = hooksOf([createChildEventsFeature({ context, forks })]);
  const stored = await forks.requests.put({
    messages: [{ info: { role: "user" }, parts: [{ type: "text", text: "Hi." }] }],
  });
  if (stored.status === "failed") throw new Error(stored.reason);
  const inherited = { mode: "full", reason: "", chars: 3, messages: 1, snapshotId: stored.blob } as const;
  const fork = (id: string): ForkRecord => {
    const record = completedFork({ id, inherited, owner: forks.owner() });
    return { ...record, childSessionId: `child-${id}` };
  };
  const remove = (id: string) =>
    hooks.event?.({ event: { type: "session.deleted", properties: { info: { id } } } });
  const isKept = async (): Promise<boolean> => {
    // A second store has nothing in memory.
    const { context: fresh } = createTestContext({ store: context.folders.root });
    return (await fresh.stores.requests.get(stored.blob)).status === "found";
  };
  return { forks, fork, remove, isKept };
}

describe("what a child inherited", () => {
  it("goes with the last session that shows it", async () => {
    const { forks, fork, remove, isKept } = await createInstance();
    await forks.keeper.add({ record: fork("f1") });
    await forks.keeper.add({ record: fork("f2") });
    await remove("child-f1");
    expect(await isKept()).toBe(true);
    await remove("child-f2");
    expect(await isKept()).toBe(false);
  });

  it("stays while a sibling of another program shows it", async () => {
    const { forks, fork, remove, isKept } = await createInstance();
    await forks.keeper.add({ record: fork("f1") });
    const elsewhere = { ...fork("f2"), owner: { ...OWNER, instanceId: "elsewhere" } };
    await forks.store.put({ id: "f2", value: elsewhere, expected: "missing" });
    await remove("child-f1");
    expect(await isKept()).toBe(true);
  });

  it("is not touched by sessions that are no children", async () => {
    const { forks, fork, remove, isKept } = await createInstance();
    await forks.keeper.add({ record: fork("f1") });
    await remove("ses_other");
    expect(await isKept()).toBe(true);
  });
});

describe("a child that is about to repeat a request", () => {
  it.each([
    { name: "is stopped when its session was deleted by another program", code: 404, stops: 1 },
    { name: "goes on when its session is there", code: undefined, stops: 0 },
    { name: "goes on when the host does not answer", code: "no-answer" as const, stops: 0 },
  ])("$name", async ({ code, stops }) => {
    const asked: string[] = [];
    const { context } = createTestContext({
      calls: {
        async call(method, path) {
          asked.push(`${method} ${path}`);
          return code === undefined ? { status: "ok", body: {} } : { status: "failed", code, reason: "" };
        },
      },
    });
    const forks = createForks(context);
    const hooks = hooksOf([createChildEventsFeature({ context, forks })]);
    await forks.keeper.add({ record: { ...runningFork({ owner: forks.owner() }), childSessionId: "child" } });
    const properties = { sessionID: "child", status: { type: "retry" } };
    await hooks.event?.({ event: { type: "session.status", properties } });
    expect(asked.filter((call) => call === "POST /session/child/abort")).toHaveLength(stops);
  });
});
