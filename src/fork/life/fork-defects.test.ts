import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  completedFork,
  endedRun,
  OWNER,
  runningFork,
  type SampleEvent,
  sampleFork,
  step,
  watchedUntil,
} from "../../../test/rig/forks/fork-samples.ts";
import { findFork } from "./admit.ts";
import { planDelivery } from "./plan-delivery.ts";
import { readForkRecord } from "./stored-record.ts";

const MINUTE_MS = 60_000;
const last = { lastText: "so far", changedFiles: ["a.ts"] };
const typesOf = (actions: readonly { readonly type: string }[]) => actions.map(({ type }) => type);

describe("what went wrong in the founding plugin does not here", () => {
  it("knows no event that clears other forks", () => {
    const record = runningFork();
    expect(step(record, { type: "session-created" } as unknown as SampleEvent)).toEqual({
      record,
      actions: [],
    });
  });

  it("a child of which nothing is heard is watched every 30 s by its status alone", () => {
    const record = runningFork();
    expect(step(record, { type: "tick", atMs: AT_MS + 29_000 }).actions).toEqual([]);
    const first = step(record, { type: "tick", atMs: AT_MS + 30_000 });
    expect(first.actions).toEqual([{ type: "look-at-status" }]);
    expect(step(first.record, { type: "tick", atMs: AT_MS + 31_000 }).actions).toEqual([]);
  });

  it("an error ends a run as failed with its kind and what was written so far", () => {
    const error = { kind: "overloaded", message: "529 overloaded" };
    const record = afterEvents(
      runningFork(),
      { type: "child-failed", error },
      { type: "child-checked", run: 1, finding: { type: "failed", error, ...last } },
    );
    expect(endedRun(record)).toMatchObject({
      state: "failed",
      error,
      text: "so far",
      changedFiles: ["a.ts"],
    });
  });

  it("an error that left no message behind ends a run as failed too", () => {
    const error = { kind: "server", message: "500" };
    const finding = { type: "stopped", lastText: "", changedFiles: [] } as const;
    const record = afterEvents(
      runningFork(),
      { type: "child-failed", error },
      { type: "child-checked", run: 1, finding, atMs: AT_MS + 6_000 },
    );
    expect(endedRun(record)).toMatchObject({ state: "failed", error });
  });

  it("a resume that has to wait is in the record and gets its slot", () => {
    const waiting = step(completedFork(), { type: "resume-asked", task: "go on", requestId: "r1" });
    expect(typesOf(waiting.actions)).toEqual(["fill-slots"]);
    expect(readForkRecord(JSON.parse(JSON.stringify(waiting.record)))).toEqual(waiting.record);
    const started = step(waiting.record, { type: "slot-given" });
    expect(started.actions[0]).toMatchObject({ type: "send-prompt", run: 2, prompt: { text: "go on" } });
  });

  it("the end of one parent ends its own forks only", () => {
    const record = step(runningFork(), { type: "parent-deleted" });
    expect(typesOf(record.actions)).toEqual(["abort-child"]);
    expect(step(runningFork(), { type: "parent-aborted" }).actions).toEqual([]);
    const stopped = step(runningFork(), { type: "parent-aborted" }, { onParentAbort: "cancel" });
    expect(typesOf(stopped.actions)).toEqual(["abort-child"]);
  });

  it("a cancelled run is stored with its partial result and delivered", () => {
    const record = afterEvents(
      runningFork(),
      { type: "cancel-asked", reason: "not needed" },
      { type: "child-stopped", run: 1, text: "half", changedFiles: ["b.ts"] },
    );
    const run = endedRun(record);
    expect(run).toMatchObject({ state: "cancelled", text: "half", changedFiles: ["b.ts"] });
    expect(run.delivery.state).toBe("pending");
  });

  it("everything about a run survives JSON, and a run of a dead owner is settled", () => {
    const record = completedFork();
    expect(readForkRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
    const owner = { ...OWNER, instanceId: "i2" };
    const taken = step(runningFork(), { type: "adopted", owner });
    expect(taken.actions).toEqual([{ type: "check-child", run: 1, key: "f1.1.1", messageId: "m1" }]);
    const finding = { type: "finished", text: "done", ...last } as const;
    const done = afterEvents(taken.record, { type: "child-checked", run: 1, finding });
    expect(endedRun(done)).toMatchObject({
      state: "completed",
      delivery: { state: "pending", isHeld: true },
    });
  });

  it("a refused prompt never leaves a run waiting", () => {
    const told = afterEvents(
      sampleFork(),
      { type: "slot-given" },
      { type: "child-created", run: 1, childSessionId: "child" },
    );
    const error = { kind: "invalid_request", message: "no such model" };
    const record = afterEvents(told, { type: "prompt-refused", run: 1, prompt: 1, error });
    expect(endedRun(record)).toMatchObject({ state: "failed", error });
  });

  it("a resumed run times out as timed-out, and can be cancelled", () => {
    const resumed = afterEvents(
      completedFork(),
      { type: "resume-asked", task: "go on", requestId: "r1" },
      { type: "slot-given" },
      { type: "prompt-accepted", run: 2, prompt: 1, messageId: "m9" },
    );
    const late = afterEvents(watchedUntil(resumed, AT_MS + 21.5 * MINUTE_MS), {
      type: "child-stopped",
      run: 2,
      text: "half",
      changedFiles: [],
    });
    expect(endedRun(late)).toMatchObject({ number: 2, state: "timed-out", text: "half", limit: "time" });
    expect(typesOf(step(resumed, { type: "cancel-asked", reason: "no" }).actions)).toEqual(["abort-child"]);
  });

  it("a fork is named by its id or its number within its root, never by a part of either", () => {
    const records = [sampleFork({ id: "abc1", number: 1 }), sampleFork({ id: "abc2", number: 12 })];
    const find = (name: string) => findFork(records, { rootSessionId: "root", name })?.id;
    expect([find("abc1"), find("12"), find("#1"), find("fork 12"), find("abc"), find("2"), find("")]).toEqual(
      ["abc1", "abc2", "abc1", "abc2", undefined, undefined, undefined],
    );
    expect(findFork(records, { rootSessionId: "other", name: "abc1" })).toBeUndefined();
  });

  it("results that come together, good or bad, go in one prompt", () => {
    const failed = afterEvents(runningFork({ id: "f2", number: 2 }), {
      type: "child-deleted",
      atMs: AT_MS + 100,
    });
    const view = {
      records: [completedFork(), failed],
      instanceId: OWNER.instanceId,
      parentSessionId: "parent",
      parent: { status: "idle" },
      moment: "time",
    } as const;
    expect(planDelivery({ ...view, nowMs: AT_MS + 100 })).toMatchObject({ nextAtMs: AT_MS + 250 });
    const plan = planDelivery({ ...view, nowMs: AT_MS + 250 });
    expect(plan.send?.way).toBe("prompt");
    expect(plan.send?.results.map(({ record }) => record.id)).toEqual(["f1", "f2"]);
  });
});
