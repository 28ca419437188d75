import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  completedFork,
  endedRun,
  OWNER,
  runningFork,
  sampleFork,
  step,
  watchedUntil,
} from "../../../test/rig/forks/fork-samples.ts";
import { currentRun, type ForkRecord, type LiveRun } from "./record.ts";

const last = { lastText: "so far", changedFiles: ["a.ts"] };
const live = (record: ForkRecord) => currentRun(record) as LiveRun;
const owner = { ...OWNER, instanceId: "i2" };
const prompted = afterEvents(
  sampleFork(),
  { type: "slot-given" },
  { type: "child-created", run: 1, childSessionId: "child" },
);
const stopping = afterEvents(runningFork(), { type: "cancel-asked", reason: "not needed" });

describe("the end of a run", () => {
  it("leaves what was known of it, and nothing of how it lived", () => {
    const busy = afterEvents(
      runningFork(),
      { type: "status", status: "retry" },
      { type: "permission-asked", askId: "a1" },
    );
    const ended = endedRun(afterEvents(busy, { type: "child-deleted", atMs: AT_MS + 5 }));
    expect(ended).toEqual({
      number: 1,
      queuedAtMs: AT_MS,
      startedAtMs: AT_MS,
      prompts: live(busy).prompts,
      calls: { total: 0, streak: 0, recentIds: [] },
      rateLimits: 0,
      state: "failed",
      endedAtMs: AT_MS + 5,
      text: "",
      changedFiles: [],
      error: { kind: "child-deleted", message: "the child session was deleted" },
      delivery: { state: "pending", sinceMs: AT_MS + 5, sends: 0 },
    });
  });

  it("has no error and no limit where there was none", () => {
    const ended = endedRun(completedFork());
    expect(ended).not.toHaveProperty("error");
    expect(ended).not.toHaveProperty("limit");
  });

  it("keeps both ends of a very long report", () => {
    const { text } = endedRun(completedFork({}, `start ${"x".repeat(40_000)} end`));
    expect(text.length).toBeLessThan(33_000);
    expect(text).toMatch(/^start x[\s\S]*x end$/);
  });

  it.each([
    {
      name: "a report",
      event: { type: "finished", text: "done", ...last } as const,
      toast: { tone: "success", text: "completed" },
    },
    {
      name: "an error",
      event: { type: "failed", error: { kind: "server", message: "500" }, ...last } as const,
      toast: { tone: "warning", text: "failed: 500" },
    },
  ])("is shown after $name, frees a slot and is delivered", ({ event, toast }) => {
    expect(step(runningFork(), { type: "child-checked", run: 1, finding: event }).actions).toEqual([
      { type: "fill-slots" },
      { type: "plan-delivery", parentSessionId: "parent" },
      { type: "toast", ...toast },
    ]);
  });

  it.each([
    { name: "an empty report", finding: { type: "finished", text: " ", ...last }, kind: "empty-report" },
    { name: "no answer", finding: { type: "stopped", ...last }, kind: "no-report" },
  ] as const)("comes after $name twice", ({ finding, kind }) => {
    const atMs = AT_MS + 10_000;
    const check = { type: "child-checked", run: 1, finding, atMs } as const;
    const record = afterEvents(
      runningFork(),
      check,
      { type: "prompt-accepted", run: 1, prompt: 2, messageId: "m2", atMs },
      { ...check, atMs: atMs + 5_000 },
    );
    expect(endedRun(record)).toMatchObject({ state: "failed", error: { kind }, text: "so far" });
  });

  it("is not believed for five seconds after the child was told something", () => {
    const check = { type: "child-checked", run: 1, finding: { type: "stopped", ...last } } as const;
    const fork = runningFork();
    expect(step(fork, { ...check, atMs: AT_MS + 4_999 }).record).toBe(fork);
    expect(live(step(fork, { ...check, atMs: AT_MS + 5_000 }).record).prompts).toHaveLength(2);
  });

  it("says which limit was reached when the child did not report", () => {
    const wrapping = afterEvents(
      runningFork(),
      { type: "root-cost-reached" },
      { type: "prompt-accepted", run: 1, prompt: 2, messageId: "m2" },
    );
    const finding = { type: "stopped", ...last } as const;
    const ended = endedRun(
      afterEvents(wrapping, { type: "child-checked", run: 1, finding, atMs: AT_MS + 9_000 }),
    );
    expect(ended).toMatchObject({ state: "failed", limit: "root-cost", error: { kind: "limit-root-cost" } });
    expect(ended.error?.message).toMatch(/\w+\. It did not report in time\.$/);
  });

  it("comes at once for a fork in the queue when the money of its root is spent", () => {
    const ended = endedRun(afterEvents(sampleFork(), { type: "root-cost-reached" }));
    expect(ended).toMatchObject({ state: "failed", error: { kind: "limit-root-cost" } });
    expect(ended.error?.message).not.toBe("");
  });
});

describe("stopping a run", () => {
  it("ends it at once where the child cannot have been told anything", () => {
    const cancel = { type: "cancel-asked", reason: "not needed", atMs: AT_MS + 3 } as const;
    for (const record of [sampleFork(), afterEvents(sampleFork(), { type: "slot-given" })]) {
      expect(endedRun(afterEvents(record, cancel))).toMatchObject({
        state: "cancelled",
        endedAtMs: AT_MS + 3,
        error: { kind: "cancelled", message: "not needed" },
      });
    }
    expect(step(prompted, cancel).actions).toEqual([{ type: "abort-child", run: 1 }]);
    expect(live(step(prompted, cancel).record).stopping?.aborts).toEqual({ count: 1, lastAtMs: AT_MS + 3 });
  });

  it("is asked for three times, then the run is over", () => {
    let record = stopping;
    const asked: number[] = [];
    for (let round = 1; round <= 3; round++) {
      const next = step(record, { type: "tick", atMs: AT_MS + round * 30_000 });
      asked.push(next.actions.filter(({ type }) => type === "abort-child").length);
      record = next.record;
    }
    expect(asked).toEqual([1, 1, 0]);
    expect(endedRun(record)).toMatchObject({ state: "cancelled", endedAtMs: AT_MS + 90_000 });
  });

  it("is not asked for again by somebody else, but nobody is told when the parent is gone", () => {
    expect(step(stopping, { type: "cancel-asked", reason: "again" }).record).toBe(stopping);
    const unwanted = step(stopping, { type: "parent-deleted" });
    expect(unwanted.actions).toEqual([]);
    expect(live(unwanted.record).stopping).toMatchObject({
      as: "cancelled",
      error: { message: "not needed" },
      isUnwanted: true,
    });
    const again = step(unwanted.record, { type: "parent-deleted" });
    expect(live(again.record).stopping).toEqual(live(unwanted.record).stopping);
  });

  it("says that the parent is the reason", () => {
    const gone = live(afterEvents(runningFork(), { type: "parent-deleted" })).stopping;
    expect(gone?.error).toEqual({ kind: "parent-deleted", message: "the parent session was deleted" });
    const aborted = step(runningFork(), { type: "parent-aborted" }, { onParentAbort: "cancel" }).record;
    expect(live(aborted).stopping?.error).toEqual({ kind: "cancelled", message: "the parent was stopped" });
    expect(live(aborted).stopping?.aborts.lastAtMs).toBe(AT_MS);
  });

  it.each([
    { name: "a report", finding: { type: "finished", text: "done", ...last }, text: "done" },
    { name: "an empty report", finding: { type: "finished", text: "", ...last }, text: "so far" },
    { name: "an answer that broke off", finding: { type: "stopped", ...last }, text: "so far" },
    { name: "nothing", finding: { type: "unprompted" }, text: "" },
  ] as const)("keeps $name as the last text", ({ finding, text }) => {
    const ended = endedRun(afterEvents(stopping, { type: "child-checked", run: 1, finding }));
    expect(ended).toMatchObject({ state: "cancelled", text });
    expect(ended.changedFiles).toEqual("changedFiles" in finding ? ["a.ts"] : []);
  });

  it("does not take an empty report for one, however late the child is", () => {
    const late = watchedUntil(runningFork(), AT_MS + 22 * 60_000);
    const finding = { type: "finished", text: " \n", ...last } as const;
    expect(endedRun(afterEvents(late, { type: "child-checked", run: 1, finding }))).toMatchObject({
      state: "timed-out",
    });
  });
});

describe("an owner that leaves", () => {
  it("ends its forks, whose results wait for the user", () => {
    expect(endedRun(afterEvents(runningFork(), { type: "owner-leaving" }))).toMatchObject({
      state: "interrupted",
      delivery: { state: "pending", isHeld: true },
    });
    expect(endedRun(afterEvents(stopping, { type: "owner-leaving", atMs: AT_MS + 1 }))).toMatchObject({
      state: "cancelled",
      endedAtMs: AT_MS + 1,
      delivery: { isHeld: true },
    });
  });

  it("is not waited for where the fork is in the queue and goes on after a restart", () => {
    const taken = step(sampleFork(), { type: "adopted", owner }, { onRestart: "resume" });
    expect(taken.actions).toEqual([{ type: "fill-slots" }]);
    expect(live(taken.record)).toEqual(live(sampleFork()));
    expect(taken.record.owner).toEqual(owner);
    expect(endedRun(step(sampleFork(), { type: "adopted", owner }).record).state).toBe("interrupted");
  });

  it("has its child looked at, also where the run had gone back to the queue", () => {
    const error = { kind: "rate_limit", message: "429" };
    const queued = afterEvents(prompted, { type: "prompt-refused", run: 1, prompt: 1, error });
    const taken = step(queued, { type: "adopted", owner });
    expect(live(taken.record)).toMatchObject({ state: "starting", adoption: { count: 1 } });
    expect(taken.actions).toMatchObject([{ type: "check-child" }]);
  });

  it("lets a child that was never told its task be told it", () => {
    const limits = { onRestart: "resume" } as const;
    const starting = afterEvents(sampleFork(), { type: "slot-given" });
    const resumed = step(starting, { type: "adopted", owner }, limits).record;
    expect(live(resumed)).toMatchObject({ state: "queued", openedBy: "restart" });
    expect(live(resumed).prompts[0]?.text).toBe("find the bug");
    const unprompted = { type: "child-checked", run: 1, finding: { type: "unprompted" } } as const;
    const looked = step(step(prompted, { type: "adopted", owner }, limits).record, unprompted, limits).record;
    expect(live(looked).prompts[0]?.text).toBe("find the bug");
    const stopped = { ...unprompted, finding: { type: "stopped", ...last } } as const;
    const told = step(step(runningFork(), { type: "adopted", owner }, limits).record, stopped, limits).record;
    expect(live(told).prompts[0]?.text).not.toBe("find the bug");
  });
});
