import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createTestContext, hooksOf } from "../../test/rig/plugin-context.ts";
import { createLease, readLease } from "../fork/life/lease.ts";
import type { RecordStore } from "../fork/life/record-store.ts";
import type { Hooks } from "../hosts/opencode/hooks.ts";
import { currentProcess } from "../stores/files/process-identity.ts";
import { createMemoryRecordStore } from "../stores/memory/record-store.ts";
import type { FeatureFailure } from "./combine-features.ts";
import { createControlFeature } from "./control.ts";
import type { Forks } from "./forks/forks.ts";
import { askPlugin } from "./stores/ask-plugin.ts";
import { type ControlStore, fileControlStore } from "./stores/control-store.ts";
import type { OwnCompaction } from "./window/own-compaction.ts";
import type { PruneWindow } from "./window/prune.ts";

afterEach(() => vi.useRealTimers());

/** A plugin that runs one fork, `fk_1`, and prunes one session, `ses_1`. */
function start(ends: "at once" | "never" = "at once", given?: ControlStore) {
  const { context } = createTestContext();
  const control = given ?? fileControlStore(context.folders.control);
  const told: unknown[] = [];
  const live = {
    id: "fk_1",
    number: 1,
    childSessionId: "ses_child",
    runs: [{ number: 1, state: "running" }],
  };
  const owner = { instanceId: "i1", process: currentProcess(), heartbeatAtMs: 0 };
  const forks = {
    owner: () => owner,
    waitForEnd: () => (ends === "never" ? new Promise(() => {}) : Promise.resolve({ state: "cancelled" })),
    keeper: {
      get: (id: string) => (id === "fk_1" ? live : undefined),
      all: () => [live],
      dispatch: async (id: string, event: object) => void told.push({ id, ...event }),
    },
  } as unknown as Forks;
  const answers = [
    { status: "busy" },
    { status: "undone", batch: { id: "b1", step: "prune", reason: "pays", at: 1, edits: [] } },
  ] as const;
  let undos = 0;
  const pruning: PruneWindow = {
    feature: { name: "pruning" },
    isOpen: (id) => id === "ses_1",
    undo: async () => answers[Math.min(undos++, 1)],
    newestAtMs: async () => 1,
  };
  const compaction: OwnCompaction = {
    feature: { name: "own compaction" },
    isOpen: () => false,
    newestAtMs: async () => undefined,
    undo: async () => undefined,
  };
  const failures: FeatureFailure[] = [];
  const feature = createControlFeature({ context, control, forks, pruning, compaction });
  const hooks = hooksOf([feature], (failure) => void failures.push(failure));
  onTestFinished(async () => hooks.dispose?.());
  const begin = () => hooks.event?.({ event: { type: "session.created", properties: {} } });
  const rest = () => live.runs.splice(0, 1, { number: 1, state: "cancelled" });
  return { context, control, told, hooks, failures, begin, rest };
}

/** A store of which is known how often it was asked. */
function countedStore(list: RecordStore["list"] = createMemoryRecordStore().list) {
  const lists: number[] = [];
  const requests = {
    ...createMemoryRecordStore(),
    list() {
      lists.push(Date.now());
      return list();
    },
  };
  const control: ControlStore = {
    instances: createMemoryRecordStore(),
    requests,
    pace: { lookMs: 2_000, idleLookMs: 15_000, pollMs: 500, answerMs: 25_000 },
    now: Date.now,
  };
  return { control, lists };
}

async function looksIn(minutes: number, lists: readonly number[]): Promise<number> {
  const before = lists.length;
  await vi.advanceTimersByTimeAsync(minutes * 60_000);
  return lists.length - before;
}

describe("a request from another process", () => {
  it("stops a fork, takes an edit back, and is answered within seconds", async () => {
    const { control, told, begin } = start();
    await begin();
    expect(await askPlugin({ control, want: { type: "cancel-fork", forkId: "fk_1" } })).toMatchObject({
      status: "answered",
      outcome: "done",
      text: "Fork fk_1 is cancelled.",
    });
    expect(told).toMatchObject([{ id: "fk_1", type: "cancel-asked" }]);
    expect(await askPlugin({ control, want: { type: "undo", sessionId: "ses_1" } })).toMatchObject({
      status: "answered",
      outcome: "done",
    });
    expect(await control.requests.list()).toMatchObject({ records: [] });
  });

  it("that cannot bring a fork to the screen says where it can be seen", async () => {
    const { context, control, begin } = start();
    vi.spyOn(context.host.screen, "open").mockResolvedValue("not-opened");
    await begin();
    expect(await askPlugin({ control, want: { type: "open-fork", forkId: "fk_1" } })).toMatchObject({
      outcome: "failed",
      text: expect.stringContaining("type /forks in the terminal"),
    });
  });

  it("holds no conversation up while a fork takes its time to stop", async () => {
    const { control, hooks, begin } = start("never");
    await begin();
    const asked = { schema: "control/1", id: "c1", askedAtMs: Date.now(), state: { status: "asked" } };
    const value = { ...asked, want: { type: "cancel-fork", forkId: "fk_1" } };
    await control.requests.put({ id: "c1", value, expected: "missing" });
    await send(hooks);
    await expect
      .poll(() => control.requests.get("c1"))
      .toMatchObject({ value: { state: { status: "taken" } } });
    await send(hooks);
  });

  it("is withdrawn when it concerns nobody who runs", async () => {
    const { control, begin } = start();
    await begin();
    expect(
      await askPlugin({ control, want: { type: "undo", sessionId: "ses_other" }, answerMs: 1_500 }),
    ).toEqual({
      status: "nobody-concerned",
    });
    expect(await control.requests.list()).toMatchObject({ records: [] });
  });

  it("is not even made when nobody runs, or only somebody who was killed", async () => {
    const { control } = start();
    expect(await askPlugin({ control, want: { type: "undo", sessionId: "ses_1" } })).toEqual({
      status: "none-runs",
    });
    const gone = { ...currentProcess(), pid: 2 ** 22 + 1 };
    const value = createLease({ instanceId: "dead", process: gone }, 0);
    await control.instances.put({ id: "instance-dead", value, expected: "missing" });
    expect(await askPlugin({ control, want: { type: "undo", sessionId: "ses_1" } })).toEqual({
      status: "none-runs",
    });
  });
});

async function signsOfLife({ instances }: ControlStore): Promise<readonly number[]> {
  const listed = await instances.list();
  return listed.status === "failed"
    ? []
    : listed.records.flatMap(({ value }) => readLease(value)?.heartbeatAtMs ?? []);
}

describe("an instance", () => {
  it("says that it runs, clears away those that are gone, and says when it ends", async () => {
    const { control, begin, hooks } = start();
    const gone = { ...currentProcess(), pid: 2 ** 22 + 1 };
    const value = createLease({ instanceId: "dead", process: gone }, 0);
    await control.instances.put({ id: "instance-dead", value, expected: "missing" });
    await begin();
    expect(await control.instances.list()).toMatchObject({ records: [{ id: "instance-i1" }] });
    await hooks.dispose?.();
    expect(await control.instances.list()).toMatchObject({ records: [] });
  });

  it("forgets requests that are old or that nobody can read", async () => {
    const { control, hooks } = start();
    const want = { type: "undo", sessionId: "ses_other" };
    for (const [id, minutes] of [
      ["old", 11],
      ["young", 9],
    ] as const) {
      const askedAtMs = control.now() - minutes * 60_000;
      const value = { schema: "control/1", id, askedAtMs, want, state: { status: "asked" } };
      await control.requests.put({ id, value, expected: "missing" });
    }
    await control.requests.put({ id: "odd", value: { schema: "control/9" }, expected: "missing" });
    await send(hooks);
    expect(await control.requests.list()).toMatchObject({ records: [{ id: "young" }] });
  });

  it("looks rarely while nothing happens, and often while it works or a fork runs", async () => {
    vi.useFakeTimers();
    const { control, lists } = countedStore();
    const { begin, rest } = start("at once", control);
    await begin();
    expect(await looksIn(2, lists)).toBe(60);
    rest();
    expect(await looksIn(1, lists)).toBeLessThanOrEqual(4);
    await begin();
    await looksIn(0, lists);
    const [sign] = (await signsOfLife(control)).slice(-1);
    expect(Date.now() - (sign ?? 0)).toBeLessThanOrEqual(75_000);
    expect(await looksIn(10, lists)).toBeLessThanOrEqual(45);
  });

  it("holds a conversation up for seconds at most where the store does not answer", async () => {
    vi.useFakeTimers();
    const { control } = countedStore(() => new Promise(() => {}));
    const { hooks } = start("at once", control);
    let isOver = false;
    const asked = send(hooks);
    void asked.then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(isOver).toBe(true);
  });

  it("lets the conversation go on when its folder cannot be used", async () => {
    const { context, hooks, failures } = start();
    writeFileSync(context.folders.control, "not a folder");
    await send(hooks);
    await hooks.event?.({ event: { type: "session.idle", properties: {} } });
    expect(failures).toEqual([]);
  });
});

/** A request of the model. */
async function send(hooks: Hooks): Promise<void> {
  const messages = [{ info: { id: "u", sessionID: "ses_1", role: "user" }, parts: [] }];
  await hooks["experimental.chat.messages.transform"]?.({}, { messages });
}
