import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  endedRun,
  runningFork,
  sampleFork,
  step,
} from "../../../test/rig/forks/fork-samples.ts";
import type { ForkAction } from "./events.ts";
import { currentRun, type ForkRecord, type LiveRun } from "./record.ts";

const AGAIN_MS = 30_000;
const last = { lastText: "so far", changedFiles: ["a.ts"] };
const error = { kind: "server", message: "500" };
const live = (record: ForkRecord) => currentRun(record) as LiveRun;
const steer = { type: "resume-asked", task: "also b", requestId: "r1" } as const;
const empty = { type: "child-checked", run: 1, finding: { type: "finished", text: " ", ...last } } as const;
const sent = (actions: readonly ForkAction[]) =>
  actions.flatMap((action) => (action.type === "send-prompt" ? [[action.prompt.kind, action.attempt]] : []));

const starting = afterEvents(sampleFork(), { type: "slot-given" });
const prompted = afterEvents(starting, { type: "child-created", run: 1, childSessionId: "child" });
const steered = afterEvents(runningFork(), steer);
const nudged = afterEvents(runningFork(), empty);

/** Ticks until the host must have answered, so often. */
function wait(record: ForkRecord, rounds: number): { record: ForkRecord; sends: (readonly unknown[])[] } {
  const sends: (readonly unknown[])[] = [];
  let now = record;
  for (let round = 1; round <= rounds; round++) {
    const next = step(now, { type: "tick", atMs: AT_MS + round * AGAIN_MS });
    sends.push(...sent(next.actions));
    now = next.record;
  }
  return { record: now, sends };
}

describe("a prompt that the host refuses", () => {
  const refuse = (prompt: number) => ({ type: "prompt-refused", run: 1, prompt, error }) as const;

  it("ends the run when it was the task", () => {
    expect(endedRun(afterEvents(prompted, refuse(1)))).toMatchObject({ state: "failed", error, text: "" });
  });

  it("ends the run when it was the question for a report", () => {
    expect(endedRun(afterEvents(nudged, refuse(2)))).toMatchObject({ state: "failed", error });
  });

  it("is given up when it was a word on the way, and the run goes on", () => {
    const next = step(steered, refuse(2));
    expect(next.actions).toEqual([]);
    expect(live(next.record)).toMatchObject({ state: "running", prompts: [{}, { isDropped: true }] });
    expect(live(next.record).prompts[0]).not.toHaveProperty("isDropped");
    expect(wait(next.record, 1).sends).toEqual([]);
  });

  it.each([
    { name: "of another run", event: { ...refuse(2), run: 2 } },
    { name: "that does not exist", event: refuse(9) },
    { name: "that was accepted", event: refuse(1) },
  ])("means nothing $name", ({ event }) => {
    expect(step(steered, event).record).toBe(steered);
  });

  it("means nothing once the run is being stopped", () => {
    const stopping = afterEvents(steered, { type: "cancel-asked", reason: "no" });
    expect(step(stopping, refuse(2)).record).toBe(stopping);
  });

  it("waits in the queue after a rate limit, as if nothing had been suspected or asked", () => {
    const limited = { kind: "rate_limit", message: "429" };
    const waiting = afterEvents(
      runningFork(),
      { type: "status", status: "retry" },
      { type: "permission-asked", askId: "a1" },
      { type: "child-failed", error: limited },
      { type: "child-checked", run: 1, finding: { type: "failed", error: limited, ...last } },
    );
    expect(live(waiting)).toMatchObject({ state: "queued", rateLimits: 1, asks: [] });
    for (const name of ["creation", "isRetrying", "suspectedError", "adoption"]) {
      expect(live(waiting)).not.toHaveProperty(name);
    }
    const again = afterEvents(waiting, { type: "slot-given", atMs: AT_MS + 15_000 });
    expect(live(again)).not.toHaveProperty("notBeforeMs");
  });
});

describe("a prompt that is lost", () => {
  it("is sent three times, then its run ends when the child cannot do without it", () => {
    const task = wait(prompted, 3);
    expect(task.sends).toEqual([
      ["task", 2],
      ["task", 3],
    ]);
    expect(live(task.record).stopping).toMatchObject({ as: "failed", error: { kind: "not-started" } });
    const nudge = wait(nudged, 3);
    expect(nudge.sends).toEqual([
      ["nudge", 2],
      ["nudge", 3],
    ]);
    expect(live(nudge.record).stopping).toMatchObject({ as: "failed" });
  });

  it("is given up when it was a word on the way", () => {
    const { record, sends } = wait(steered, 4);
    expect(sends).toEqual([
      ["steer", 2],
      ["steer", 3],
    ]);
    expect(live(record).prompts[1]).toMatchObject({ isDropped: true });
    expect(live(record).stopping).toBeUndefined();
  });

  it("is sent again once for each rate limit too", () => {
    const limited = { kind: "rate_limit", message: "429" };
    const again = afterEvents(
      prompted,
      { type: "prompt-refused", run: 1, prompt: 1, error: limited },
      { type: "slot-given", atMs: AT_MS + 15_000 },
    );
    expect(live(again).prompts[0]?.attempts?.count).toBe(2);
    const { record, sends } = wait(again, 4);
    expect(sends.map(([, attempt]) => attempt)).toEqual([3, 4]);
    expect(live(record).stopping).toMatchObject({ as: "failed" });
  });

  it("is not sent to a child that is being stopped, or not there", () => {
    const stopping = afterEvents(prompted, { type: "cancel-asked", reason: "no" });
    expect(wait(stopping, 2).sends).toEqual([]);
    expect(wait(starting, 2).sends).toEqual([]);
  });
});

describe("a prompt that the host takes", () => {
  it("lets what was said meanwhile follow, and only that", () => {
    const waiting = afterEvents(prompted, steer);
    expect(sent(step(prompted, steer).actions)).toEqual([]);
    const next = step(waiting, { type: "prompt-accepted", run: 1, prompt: 1, messageId: "m1" });
    expect(sent(next.actions)).toEqual([["steer", 1]]);
    expect(live(next.record).state).toBe("running");
  });

  it("goes alone at the start", () => {
    const both = afterEvents(sampleFork(), steer, { type: "slot-given" });
    const next = step(both, { type: "child-created", run: 1, childSessionId: "child" });
    expect(sent(next.actions)).toEqual([["task", 1]]);
  });

  it("ends a child that was woken after its run was over", () => {
    const over = afterEvents(steered, { type: "child-deleted" });
    const next = step(over, { type: "prompt-accepted", run: 1, prompt: 2, messageId: "m2" });
    expect(next.actions).toEqual([{ type: "abort-child", run: 1 }]);
    expect(currentRun(next.record).prompts).toMatchObject([
      { number: 1, messageId: "m1", kind: "task" },
      { number: 2, messageId: "m2", kind: "steer" },
    ]);
  });

  it("is noted, and no more, while its run waits in the queue", () => {
    const limited = { kind: "rate_limit", message: "429" };
    const finding = { type: "failed", error: limited, ...last } as const;
    const queued = afterEvents(steered, { type: "child-checked", run: 1, finding });
    const next = step(queued, { type: "prompt-accepted", run: 1, prompt: 2, messageId: "m2" });
    expect(next.actions).toEqual([]);
    expect(live(next.record)).toMatchObject({ state: "queued", prompts: [{}, { messageId: "m2" }] });
  });

  it.each([
    { name: "of another run", event: { run: 2, prompt: 2 } },
    { name: "that does not exist", event: { run: 1, prompt: 9 } },
  ])("means nothing $name", ({ event }) => {
    expect(step(steered, { type: "prompt-accepted", messageId: "m2", ...event }).record).toBe(steered);
  });

  it("means nothing for a child that another run asked for", () => {
    const refused = step(starting, { type: "child-refused", run: 2, error });
    expect(refused.record).toBe(starting);
  });
});

describe("a permission", () => {
  const asked = afterEvents(
    runningFork(),
    { type: "permission-asked", askId: "a1" },
    { type: "permission-asked", askId: "a2", atMs: AT_MS + 1 },
  );

  it("is forgotten when it is answered, and no other", () => {
    const next = step(asked, { type: "permission-answered", askId: "a1" });
    expect(next.actions).toEqual([]);
    expect(live(next.record).asks.map(({ askId }) => askId)).toEqual(["a2"]);
    expect(step(asked, { type: "permission-answered", askId: "a3" }).record).toBe(asked);
  });

  it("is refused three times, then forgotten", () => {
    let record = asked;
    const rejected: string[] = [];
    for (let round = 0; round <= 3; round++) {
      const atMs = AT_MS + 300_001 + round * AGAIN_MS;
      const next = step(record, { type: "tick", atMs });
      for (const action of next.actions) if (action.type === "reject-permission") rejected.push(action.askId);
      record = next.record;
      const counts = live(record).asks.map(({ rejects }) => rejects?.count);
      expect(counts).toEqual(round < 3 ? [round + 1, round + 1] : []);
    }
    expect(rejected).toEqual(["a1", "a2", "a1", "a2", "a1", "a2"]);
  });

  it("is a sign of life, also when it comes late", () => {
    const late = afterEvents(asked, { type: "permission-asked", askId: "a4", atMs: AT_MS - 9 });
    expect(live(late).lastSignAtMs).toBe(AT_MS + 1);
    const called = { type: "tool-called", callId: "c1", hash: "h" } as const;
    expect(live(afterEvents(asked, { ...called, atMs: AT_MS - 9 })).lastSignAtMs).toBe(AT_MS + 1);
    expect(live(afterEvents(asked, { ...called, atMs: AT_MS + 9 })).lastSignAtMs).toBe(AT_MS + 9);
  });

  it("is shown to a person with what it is for", () => {
    expect(step(runningFork(), { type: "permission-asked", askId: "a1", what: "bash ls" }).actions).toEqual([
      { type: "toast", tone: "warning", text: "waits for a permission: bash ls" },
    ]);
  });
});
