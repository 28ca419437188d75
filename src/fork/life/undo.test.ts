import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  completedFork,
  OWNER,
  runningFork,
  sampleFork,
  step,
} from "../../../test/rig/forks/fork-samples.ts";
import { readForkTraces } from "./find-undone.ts";
import { planDelivery } from "./plan-delivery.ts";
import { currentRun, type ForkRecord } from "./record.ts";
import { forkRoster } from "./roster.ts";

const askedBy = { messageId: "m1", callId: "c1" };
const asked = (record: ForkRecord): ForkRecord => ({
  ...record,
  runs: record.runs.map((run) => ({ ...run, askedBy })),
});
const running = asked(runningFork());
const completed = asked(completedFork());
const deliveryOf = (record: ForkRecord) => {
  const run = currentRun(record);
  return "delivery" in run ? run.delivery : undefined;
};
const planFor = (record: ForkRecord, status: "idle" | "reverted" = "idle") =>
  planDelivery({
    records: [record],
    instanceId: record.owner.instanceId,
    parentSessionId: record.parentSessionId,
    parent: { status },
    moment: "time",
    nowMs: AT_MS + 3_600_000,
  });

describe("a run whose asking message was taken back", () => {
  it("may only report while it runs, is not prompted for it, and is offered when it ends", () => {
    const told = step(running, { type: "launch-undone", run: 1 });
    expect(currentRun(told.record)).toMatchObject({ undone: "restorable", wrapUp: { limit: "undone" } });
    expect(told.actions).toEqual([]);
    const finding = { type: "finished", text: "Found.", lastText: "", changedFiles: [] } as const;
    const ended = step(told.record, { type: "child-checked", run: 1, finding });
    expect(ended.actions).toContainEqual(
      expect.objectContaining({ type: "toast", text: expect.stringContaining("not inserted") }),
    );
    expect(planFor(ended.record)).toMatchObject({ look: [], remind: [], giveUp: [] });
    expect(planFor(ended.record).send).toBeUndefined();
  });

  it("ends before it begins when its child was not prompted yet", () => {
    const { record } = step(asked(sampleFork()), { type: "launch-undone", run: 1 });
    expect(currentRun(record)).toMatchObject({
      state: "cancelled",
      undone: "restorable",
      error: { kind: "undone" },
    });
  });

  it("goes on, and its result is delivered, once the message is restored", () => {
    const back = afterEvents(running, { type: "launch-undone", run: 1 }, { type: "launch-restored", run: 1 });
    expect(currentRun(back)).toEqual(currentRun(running));
    const ended = afterEvents(
      completed,
      { type: "launch-undone", run: 1 },
      { type: "launch-restored", run: 1 },
    );
    expect(planFor(ended).send?.results).toHaveLength(1);
  });

  it("is never delivered once the user went on, and stays readable", () => {
    const gone = afterEvents(completed, { type: "launch-undone", run: 1 }, { type: "launch-gone", run: 1 });
    expect(deliveryOf(gone)).toMatchObject({ state: "acked", closedBy: "undone" });
    expect(step(gone, { type: "launch-restored", run: 1 }).record).toBe(gone);
    expect(currentRun(gone)).toMatchObject({ text: expect.stringContaining("a.ts:1") });
    const late = afterEvents(running, { type: "launch-gone", run: 1 }, { type: "owner-leaving" });
    expect(deliveryOf(late)).toMatchObject({ state: "acked", closedBy: "undone" });
  });

  it("is offered once, however often it is told", () => {
    const first = step(completed, { type: "launch-undone", run: 1 });
    expect(first.actions.map(({ type }) => type)).toEqual(["toast"]);
    expect(step(first.record, { type: "launch-undone", run: 1 })).toEqual({
      record: first.record,
      actions: [],
    });
    expect(step(first.record, { type: "launch-gone", run: 1 }).actions).toEqual([]);
  });

  it("is not in the list that a compaction must keep", () => {
    expect(forkRoster([running], AT_MS)).not.toBe("");
    expect(forkRoster([step(running, { type: "launch-undone", run: 1 }).record], AT_MS)).toBe("");
  });
});

describe("a result whose message was taken back", () => {
  const answered = afterEvents(
    completed,
    { type: "delivery-sent", run: 1, way: "prompt" },
    { type: "delivery-answered", run: 1 },
  );

  it("is delivered again once the user went on without it, and not before", () => {
    const undone = step(answered, { type: "delivery-undone", run: 1 }).record;
    expect(planFor(undone).send).toBeUndefined();
    const gone = step(undone, { type: "delivery-gone", run: 1 }).record;
    expect(planFor(gone).send?.results).toHaveLength(1);
  });

  it("stays answered when its launch was taken back with it, and the user went on", () => {
    const undone = afterEvents(
      answered,
      { type: "launch-undone", run: 1 },
      { type: "delivery-undone", run: 1 },
    );
    const gone = step(undone, { type: "launch-gone", run: 1 });
    expect(gone.actions).toEqual([]);
    expect(currentRun(gone.record)).toMatchObject({ undone: "gone" });
    expect(deliveryOf(gone.record)).toEqual(deliveryOf(answered));
    const back = afterEvents(
      undone,
      { type: "launch-restored", run: 1 },
      { type: "delivery-restored", run: 1 },
    );
    expect(back.runs).toEqual(answered.runs);
  });

  it("is as it was once it is restored", () => {
    const back = afterEvents(
      answered,
      { type: "delivery-undone", run: 1 },
      { type: "delivery-restored", run: 1 },
    );
    expect(back).toEqual(answered);
  });

  it("stays where it is when it was never delivered, or nobody wants it", () => {
    expect(step(completed, { type: "delivery-gone", run: 1 }).record).toBe(completed);
    const closed = step(completed, { type: "parent-deleted" }).record;
    expect(step(closed, { type: "delivery-gone", run: 1 }).record).toBe(closed);
  });
});

describe("an undo concerns the run that it names alone", () => {
  const [ended] = completed.runs;
  const two: ForkRecord = {
    ...completed,
    runs: [...completed.runs, ...completed.runs.map((run) => ({ ...run, number: 2 }))],
  };
  const sent = afterEvents(
    completed,
    { type: "delivery-sent", run: 1, way: "prompt" },
    { type: "delivery-answered", run: 1 },
  );

  it.each([
    "launch-undone",
    "launch-gone",
    "launch-restored",
    "delivery-undone",
    "delivery-restored",
    "delivery-gone",
  ] as const)("%s of a run that is not there changes nothing", (type) => {
    expect(step(completed, { type, run: 9 })).toEqual({ record: completed, actions: [] });
  });

  it("and leaves the others as they were", () => {
    const { runs } = step(two, { type: "launch-undone", run: 2 }).record;
    expect(runs[0]).toEqual(ended);
    expect(runs[1]).toMatchObject({ number: 2, undone: "restorable" });
  });

  it("and what comes next is planned where a result may be wanted again", () => {
    const plan = [{ type: "plan-delivery", parentSessionId: "parent" }];
    const undone = step(completed, { type: "launch-undone", run: 1 }).record;
    expect(step(undone, { type: "launch-restored", run: 1 }).actions).toEqual(plan);
    const taken = step(sent, { type: "delivery-undone", run: 1 });
    expect(taken.actions).toEqual(plan);
    expect(deliveryOf(taken.record)).toMatchObject({ isUndone: true });
    expect(step(taken.record, { type: "delivery-gone", run: 1 }).actions).toEqual(plan);
  });

  it("and is final once the user went on", () => {
    const gone = step(running, { type: "launch-gone", run: 1 }).record;
    for (const type of ["launch-undone", "launch-gone", "launch-restored"] as const)
      expect(step(gone, { type, run: 1 }).record).toBe(gone);
  });

  it("and a run that had to report for another reason still has to", () => {
    const limited = step(running, { type: "root-cost-reached" }).record;
    const back = afterEvents(limited, { type: "launch-undone", run: 1 }, { type: "launch-restored", run: 1 });
    expect(currentRun(back)).toEqual(currentRun(limited));
  });

  it("and a live run has no delivery to take back", () => {
    expect(step(running, { type: "delivery-undone", run: 1 })).toEqual({ record: running, actions: [] });
  });

  it("and a result that was read by a tool is told of as a delivered one", () => {
    const read = step(completed, { type: "delivery-sent", run: 1, way: "read" }).record;
    expect(deliveryOf(step(read, { type: "delivery-undone", run: 1 }).record)).toMatchObject({
      isUndone: true,
    });
  });
});

describe("the call that asked for a run is known", () => {
  const owner = { ...OWNER, instanceId: "i2" };

  it("of a run that was resumed", () => {
    const resumed = { type: "resume-asked", task: "more", requestId: "r" } as const;
    const [, known] = step(completed, { ...resumed, askedBy }).record.runs;
    expect(known).toMatchObject({ number: 2, askedBy });
    expect(step(completed, resumed).record.runs[1]).not.toHaveProperty("askedBy");
  });

  it("of a run that goes on after its program ended, unless its message was taken back", () => {
    const restart = { onRestart: "resume" } as const;
    const finding = { type: "stopped", lastText: "", changedFiles: [] } as const;
    const goOn = (record: ForkRecord) => {
      const adopted = step(record, { type: "adopted", owner }, restart).record;
      return step(adopted, { type: "child-checked", run: 1, finding }, restart).record.runs;
    };
    expect(goOn(running)).toMatchObject([{ state: "interrupted" }, { number: 2, askedBy }]);
    expect(goOn(runningFork())[1]).not.toHaveProperty("askedBy");
    expect(goOn(step(running, { type: "launch-undone", run: 1 }).record)).toMatchObject([{ number: 1 }]);
  });
});

describe("readForkTraces", () => {
  const notice = '<fork_result delivery="f1.1" fork="1">';
  const done = { status: "done", output: '<fork_result delivery="f2.1"', attachments: [] } as const;
  const traces = readForkTraces([
    { id: "m1", role: "user", parts: [{ type: "text", text: `${notice} and <fork_result delivery="f3.2"` }] },
    {
      id: "m2",
      role: "assistant",
      parts: [
        { type: "reasoning", text: '<fork_result delivery="f9.1"' },
        { type: "tool", callId: "c1", tool: "fork_result", input: {}, outcome: done },
      ],
    },
  ]);

  it("finds results in texts and in what tools gave, and nowhere else", () => {
    expect([...traces.deliveries]).toEqual(["f1.1", "f3.2", "f2.1"]);
  });

  it("knows a call by its message and its name", () => {
    expect(traces.hasCall({ messageId: "m2", callId: "c1" })).toBe(true);
    expect(traces.hasCall({ messageId: "m1", callId: "c1" })).toBe(false);
    expect(traces.hasCall({ messageId: "m2", callId: "c2" })).toBe(false);
  });
});

it("a parent with messages taken back gets nothing, and nothing is searched for there", () => {
  const sent = step(completed, { type: "delivery-sent", run: 1, way: "prompt" }).record;
  expect(planFor(completed, "reverted")).toEqual({ look: [], remind: [], giveUp: [] });
  expect(planFor(sent, "reverted")).toEqual({ look: [], remind: [], giveUp: [] });
});

it("a prompt that the host did not take, since messages were taken back, was not a try", () => {
  const sent = step(completed, { type: "delivery-sent", run: 1, way: "prompt" }).record;
  const refused = step(sent, { type: "delivery-refused", run: 1 }).record;
  expect(deliveryOf(refused)).toMatchObject({ state: "pending", sends: 0 });
});
