import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  endedRun,
  OWNER,
  runningFork,
  sampleFork,
  step,
  watchedUntil,
} from "../../../test/rig/forks/fork-samples.ts";
import { currentRun, type ForkRecord, type LiveRun, workedMs } from "./record.ts";
import { activityOf } from "./roster.ts";
import { refusalOf } from "./run-limits.ts";

const MINUTE_MS = 60_000;
const last = { lastText: "so far", changedFiles: [] };
const live = (record: ForkRecord) => currentRun(record) as LiveRun;

describe("limits of a run", () => {
  it("lets a child only report when its time is up, and ends it after the grace with its last text", () => {
    const early = watchedUntil(runningFork(), AT_MS + 20 * MINUTE_MS - 1);
    expect(refusalOf(live(early), "c1")).toBeUndefined();
    const told = watchedUntil(runningFork(), AT_MS + 20 * MINUTE_MS);
    expect(refusalOf(live(told), "c1")).toMatch(/^The time is up\./);
    const graceEnd = AT_MS + 20 * MINUTE_MS + 90_000;
    const waits = step(told, { type: "tick", atMs: graceEnd - 30_001 });
    expect(live(waits.record).stopping).toBeUndefined();
    expect(live(step(waits.record, { type: "tick", atMs: graceEnd - 1 }).record).stopping).toBeUndefined();
    const stopped = step(waits.record, { type: "tick", atMs: graceEnd });
    expect(stopped.actions).toContainEqual({ type: "abort-child", run: 1 });
    const record = afterEvents(stopped.record, {
      type: "child-stopped",
      run: 1,
      text: "half",
      changedFiles: [],
    });
    expect(endedRun(record)).toMatchObject({ state: "timed-out", text: "half", limit: "time" });
  });

  it("counts a report within the grace as completed, and says which limit was reached", () => {
    const finding = { type: "finished", text: "report", ...last } as const;
    const record = afterEvents(watchedUntil(runningFork(), AT_MS + 20 * MINUTE_MS), {
      type: "child-checked",
      run: 1,
      finding,
    });
    expect(endedRun(record)).toMatchObject({ state: "completed", text: "report", limit: "time" });
  });

  it("takes a report that crosses the abort, unless nobody is left to read it", () => {
    const finding = { type: "finished", text: "report", ...last } as const;
    const late = watchedUntil(runningFork(), AT_MS + 22 * MINUTE_MS);
    const check = { type: "child-checked", run: 1, finding } as const;
    expect(endedRun(afterEvents(late, check))).toMatchObject({ state: "completed", text: "report" });
    const unread = afterEvents(late, { type: "parent-deleted" }, check);
    expect(endedRun(unread)).toMatchObject({ state: "timed-out", delivery: { closedBy: "parent-deleted" } });
  });

  it("wraps up at the last allowed tool call, and at the fifth equal call in a row", () => {
    const call = (index: number, hash: string) =>
      ({ type: "tool-called", callId: `c${index}`, hash }) as const;
    const different = Array.from({ length: 200 }, (_, index) => call(index, `h${index}`));
    expect(live(afterEvents(runningFork(), ...different.slice(0, 199))).wrapUp).toBeUndefined();
    expect(live(afterEvents(runningFork(), ...different)).wrapUp?.limit).toBe("tool-calls");
    const equal = [1, 2, 3, 4].map((index) => call(index, "same"));
    expect(
      live(afterEvents(runningFork(), ...equal, call(5, "other"), call(6, "same"))).wrapUp,
    ).toBeUndefined();
    expect(live(afterEvents(runningFork(), ...equal, call(5, "same"))).wrapUp?.limit).toBe("repeated-call");
  });

  it("refuses every call from the limit on, but not the last one that was allowed", () => {
    const limits = { maxToolCalls: 4 };
    let record = runningFork();
    const refused = [1, 2, 3, 4, 5, 6].map((index) => {
      const before = record;
      record = step(before, { type: "tool-called", callId: `c${index}`, hash: `h${index}` }, limits).record;
      return refusalOf(currentRun(before), `c${index}`) !== undefined;
    });
    expect(refused).toEqual([false, false, false, false, true, true]);
    expect(live(record)).toMatchObject({ calls: { total: 4 }, wrapUp: { limit: "tool-calls" } });
    expect(refusalOf(live(record), "c4")).toBeUndefined();
  });

  it("takes one answer after a limit: one more request stops the child with its last text", () => {
    const started = (answered?: string) => ({ type: "request-started", answered }) as const;
    const asked = afterEvents(runningFork(), { type: "root-cost-reached" }, started("a1"));
    expect(live(asked).stopping).toBeUndefined();
    expect(live(afterEvents(asked, started("a1"))).stopping).toBeUndefined();
    const stopped = step(asked, started("a2"));
    expect(stopped.actions).toEqual([{ type: "abort-child", run: 1 }]);
    expect(refusalOf(live(stopped.record), "c2")).toContain("stopped");
    const last = { type: "child-stopped", run: 1, text: "half", changedFiles: [] } as const;
    expect(endedRun(afterEvents(stopped.record, last))).toMatchObject({
      state: "failed",
      text: "half",
      limit: "root-cost",
    });
  });

  it("speaks to no child that may only report", () => {
    const told = afterEvents(runningFork(), { type: "root-cost-reached" });
    const steer = { type: "resume-asked", task: "also b", requestId: "r1" } as const;
    expect(step(told, steer).record).toBe(told);
  });

  it("does not count as run time when nobody looked after the run", () => {
    const working = watchedUntil(runningFork(), AT_MS + 5 * MINUTE_MS);
    const slept = step(working, { type: "tick", atMs: AT_MS + 125 * MINUTE_MS });
    expect(slept.actions).toContainEqual({ type: "look-at-status" });
    expect(live(slept.record).wrapUp).toBeUndefined();
    expect(workedMs(live(slept.record), AT_MS + 125 * MINUTE_MS)).toBe(5 * MINUTE_MS);
    const adopted = step(working, {
      type: "adopted",
      owner: { ...OWNER, instanceId: "i2" },
      atMs: AT_MS + 65 * MINUTE_MS,
    });
    expect(workedMs(live(adopted.record), AT_MS + 65 * MINUTE_MS)).toBe(5 * MINUTE_MS);
  });

  it("counts a call that is reported twice once", () => {
    const call = { type: "tool-called", callId: "c1", hash: "same" } as const;
    expect(live(afterEvents(runningFork(), call, call, call, call, call)).calls.total).toBe(1);
  });

  it("wraps up when the money of the fork or of its root is spent; late totals do not lower it", () => {
    const spent = (costUSD: number) => ({ type: "spent", costUSD, tokens: 1, steps: 1 }) as const;
    const record = afterEvents(runningFork(), spent(1.99), spent(0.5));
    expect(record.spent.costUSD).toBe(1.99);
    expect(live(record).wrapUp).toBeUndefined();
    expect(live(afterEvents(record, spent(2))).wrapUp?.limit).toBe("fork-cost");
    expect(live(afterEvents(record, { type: "root-cost-reached" })).wrapUp?.limit).toBe("root-cost");
    expect(afterEvents(record, spent(Number.NaN)).spent.costUSD).toBe(1.99);
  });

  it("queues a run again after a rate limit, longer each time, and gives up after five", () => {
    const error = { kind: "rate_limit", message: "429" };
    let record = sampleFork();
    let atMs = AT_MS;
    const waits: number[] = [];
    for (let round = 1; round <= 6; round++) {
      record = afterEvents(
        record,
        { type: "slot-given", atMs },
        { type: "child-created", run: 1, childSessionId: "child", atMs },
        { type: "prompt-refused", run: 1, prompt: 1, error, atMs },
      );
      const run = currentRun(record);
      if (run.state !== "queued") break;
      expect(step(record, { type: "slot-given", atMs }).record).toBe(record);
      waits.push((run.notBeforeMs ?? 0) - atMs);
      atMs = run.notBeforeMs ?? atMs;
    }
    expect(waits).toEqual([15_000, 30_000, 60_000, 120_000, 240_000]);
    expect(endedRun(record)).toMatchObject({ state: "failed", error });
  });

  it("waits as long as the provider asks, up to five minutes", () => {
    const refuse = (retryAfterMs: number) => {
      const error = { kind: "rate_limit", message: "429", retryAfterMs };
      return live(afterEvents(sampleFork(), { type: "slot-given" }, { type: "child-refused", run: 1, error }))
        .notBeforeMs;
    };
    expect([refuse(1_000), refuse(40_000), refuse(3_600_000)]).toEqual([
      AT_MS + 15_000,
      AT_MS + 40_000,
      AT_MS + 300_000,
    ]);
  });

  it("lets a child that a rate limit stopped go on, instead of telling it its task again", () => {
    const error = { kind: "rate_limit", message: "429" };
    const waiting = afterEvents(runningFork(), {
      type: "child-checked",
      run: 1,
      finding: { type: "failed", error, ...last },
    });
    const again = step(waiting, { type: "slot-given", atMs: AT_MS + MINUTE_MS });
    expect(again.actions).toMatchObject([{ type: "send-prompt", prompt: { kind: "continue" } }]);
  });

  it("asks a silent child once to report, then fails", () => {
    const finding = { type: "finished", text: " \n", ...last } as const;
    const nudged = step(runningFork(), { type: "child-checked", run: 1, finding });
    expect(nudged.actions).toMatchObject([{ type: "send-prompt", prompt: { kind: "nudge" } }]);
    const early = step(nudged.record, { type: "child-checked", run: 1, finding });
    expect(early.record).toBe(nudged.record);
    const record = afterEvents(
      nudged.record,
      { type: "prompt-accepted", run: 1, prompt: 2, messageId: "m2" },
      { type: "child-checked", run: 1, finding },
    );
    expect(endedRun(record)).toMatchObject({
      state: "failed",
      error: { kind: "empty-report" },
      text: "so far",
    });
  });

  it("waits for a steer on its way before it believes a report", () => {
    const finding = { type: "finished", text: "done", ...last } as const;
    const steered = afterEvents(runningFork(), {
      type: "resume-asked",
      task: "also b",
      requestId: "r1",
    });
    expect(step(steered, { type: "child-checked", run: 1, finding }).record).toBe(steered);
    const told = afterEvents(steered, { type: "prompt-accepted", run: 1, prompt: 2, messageId: "m2" });
    const check = step(told, { type: "status", status: "idle" }).actions;
    expect(check).toEqual([{ type: "check-child", run: 1, key: "f1.1.2", messageId: "m2" }]);
  });

  it("refuses a permission that nobody grants in time, at once where nobody can", () => {
    const asked = step(runningFork(), { type: "permission-asked", askId: "a1" });
    expect(asked.actions).toMatchObject([{ type: "toast" }]);
    const early = step(asked.record, { type: "tick", atMs: AT_MS + 299_000 });
    expect(early.actions.map(({ type }) => type)).not.toContain("reject-permission");
    const late = step(asked.record, { type: "tick", atMs: AT_MS + 300_000 });
    expect(late.actions).toContainEqual({
      type: "reject-permission",
      askId: "a1",
      reason: expect.stringContaining("Nobody answered for 5 min."),
    });
    const headless = step(runningFork(), { type: "permission-asked", askId: "a1" }, { askTimeoutMs: 0 });
    expect(headless.actions).toMatchObject([{ type: "reject-permission", askId: "a1" }]);
  });

  it("asks a host three times for the same thing, then ends the run", () => {
    let record = afterEvents(sampleFork(), { type: "slot-given" });
    const attempts: number[] = [];
    for (let round = 1; round <= 5; round++) {
      const next = step(record, { type: "tick", atMs: AT_MS + round * 30_000 });
      for (const action of next.actions) if (action.type === "create-child") attempts.push(action.attempt);
      record = next.record;
    }
    expect(attempts).toEqual([2, 3]);
    expect(endedRun(record)).toMatchObject({ state: "failed", error: { kind: "not-started" } });
  });

  it("shows the most pressing thing that a run is doing", () => {
    const at = (record: ForkRecord, nowMs = AT_MS) => activityOf(live(record), nowMs);
    const asking = afterEvents(runningFork(), { type: "permission-asked", askId: "a1" });
    expect(at(runningFork())).toBe("active");
    expect(at(runningFork(), AT_MS + 3 * MINUTE_MS)).toBe("stalled");
    expect(at(afterEvents(runningFork(), { type: "status", status: "retry" }))).toBe("retrying");
    expect(at(asking)).toBe("waiting-permission");
    expect(at(afterEvents(asking, { type: "root-cost-reached" }))).toBe("wrapping-up");
  });
});

describe("a run whose program ended", () => {
  const owner = { ...OWNER, instanceId: "i2" };
  const stopped = { type: "child-checked", run: 1, finding: { type: "stopped", ...last } } as const;

  it("goes on as the next run if configured, once, and only that one is delivered", () => {
    const limits = { onRestart: "resume" } as const;
    const taken = step(runningFork(), { type: "adopted", owner }, limits).record;
    const resumed = step(taken, stopped, limits).record;
    expect(resumed.runs.map(({ state }) => state)).toEqual(["interrupted", "queued"]);
    expect(resumed.runs[0]).toMatchObject({ delivery: { state: "acked", closedBy: "next-run" } });
    const again = afterEvents(
      resumed,
      { type: "slot-given" },
      { type: "prompt-accepted", run: 2, prompt: 1, messageId: "m5" },
      { type: "adopted", owner: { ...OWNER, instanceId: "i3" } },
    );
    const ended = step(again, { ...stopped, run: 2 }, limits).record;
    expect(ended.runs.map(({ state }) => state)).toEqual(["interrupted", "interrupted"]);
  });

  it("is not spoken to before it was looked at, and interrupted if nobody can look", () => {
    let record = step(runningFork(), { type: "adopted", owner }).record;
    const kinds = new Set<string>();
    for (let round = 1; round <= 11; round++) {
      const next = step(record, { type: "tick", atMs: AT_MS + round * 30 * MINUTE_MS });
      for (const { type } of next.actions) kinds.add(type);
      record = next.record;
    }
    expect(endedRun(record).state).toBe("interrupted");
    expect([...kinds]).toEqual(["check-child", "fill-slots", "plan-delivery", "toast"]);
  });

  it("keeps what its child says later, and does not deliver it again", () => {
    const record = afterEvents(runningFork(), { type: "adopted", owner }, stopped);
    const finding = { type: "finished", text: "after all", ...last } as const;
    const late = step(record, { type: "child-checked", run: 1, finding });
    expect(late.actions).toEqual([]);
    expect(endedRun(late.record)).toMatchObject({ state: "interrupted", lateText: "after all" });
  });
});
