import { writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTestContext } from "../../../../test/support/plugin-context.ts";
import { currentProcess } from "../../../stores/files/process-identity.ts";
import { createLease } from "../../../tasks/fork-lease.ts";
import { combineHooks, type HookFailure } from "../combine-hooks.ts";
import type { Forks } from "../forks/create-forks.ts";
import { askPlugin } from "./ask-plugin.ts";
import { createControlFeature } from "./control-feature.ts";
import { createControlStore } from "./control-store.ts";
import type { PruneWindow } from "./prune-window.ts";

/** A plugin that runs one fork, `fk_1`, and prunes one session, `ses_1`. */
function start(ends: "at once" | "never" = "at once") {
  const { context } = createTestContext();
  const control = createControlStore(context.folders.control);
  const told: unknown[] = [];
  const live = { id: "fk_1", number: 1, runs: [{ number: 1, state: "running" }] };
  const owner = { instanceId: "i1", process: currentProcess(), heartbeatAtMs: 0 };
  const forks = {
    owner: () => owner,
    waitForEnd: () => (ends === "never" ? new Promise(() => {}) : Promise.resolve({ state: "cancelled" })),
    keeper: {
      get: (id: string) => (id === "fk_1" ? live : undefined),
      tell: async (id: string, event: object) => void told.push({ id, ...event }),
    },
  } as unknown as Forks;
  const answers = [
    { status: "busy" },
    { status: "undone", batch: { id: "b1", step: "prune", reason: "pays", at: 1, edits: [] } },
  ] as const;
  let undos = 0;
  const pruning: PruneWindow = {
    feature: { name: "pruning", hooks: {} },
    isOpen: (id) => id === "ses_1",
    undo: async () => answers[Math.min(undos++, 1)],
  };
  const failures: HookFailure[] = [];
  const feature = createControlFeature({ context, control, forks, pruning });
  const hooks = combineHooks([feature], (failure) => failures.push(failure));
  onTestFinished(async () => hooks.dispose?.());
  const begin = () => hooks.event?.({ event: { type: "session.created", properties: {} } });
  return { context, control, told, hooks, failures, begin };
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

  it("holds no conversation up while a fork takes its time to stop", async () => {
    const { control, hooks, begin } = start("never");
    await begin();
    const asked = { schema: "control/1", id: "c1", askedAtMs: Date.now(), state: { status: "asked" } };
    const value = { ...asked, want: { type: "cancel-fork", forkId: "fk_1" } };
    await control.requests.put({ id: "c1", value, expected: "missing" });
    await hooks["experimental.chat.messages.transform"]?.({}, { messages: [] });
    await expect
      .poll(() => control.requests.get("c1"))
      .toMatchObject({ value: { state: { status: "taken" } } });
    await hooks["experimental.chat.messages.transform"]?.({}, { messages: [] });
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
    const old = { schema: "control/1", id: "old", askedAtMs: 0, want, state: { status: "asked" } };
    await control.requests.put({ id: "old", value: old, expected: "missing" });
    await control.requests.put({ id: "odd", value: { schema: "control/9" }, expected: "missing" });
    await hooks["experimental.chat.messages.transform"]?.({}, { messages: [] });
    expect(await control.requests.list()).toMatchObject({ records: [] });
  });

  it("lets the conversation go on when its folder cannot be used", async () => {
    const { context, hooks, failures } = start();
    writeFileSync(context.folders.control, "not a folder");
    await hooks["experimental.chat.messages.transform"]?.({}, { messages: [] });
    await hooks.event?.({ event: { type: "session.idle", properties: {} } });
    expect(failures).toEqual([]);
  });
});
