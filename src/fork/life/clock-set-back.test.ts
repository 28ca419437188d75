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
import { defaultsOf } from "../../text/check.ts";
import { nextToStart } from "./admit.ts";
import { FORK_LIMIT_SHAPE, forkLimits } from "./limits.ts";
import { planDelivery } from "./plan-delivery.ts";
import { currentRun, type ForkRecord } from "./record.ts";

const HOUR_MS = 3_600_000;
const LATER_MS = AT_MS + HOUR_MS;
const typesOf = (record: ForkRecord, atMs: number) =>
  step(record, { type: "tick", atMs }).actions.map(({ type }) => type);

/** Everything below has happened at `LATER_MS` by a clock that then says `AT_MS` again. */
describe("a clock that was set back by an hour", () => {
  it("does not keep a child from being watched", () => {
    const watched = afterEvents(runningFork(), { type: "tick", atMs: LATER_MS });
    expect(typesOf(watched, AT_MS)).toContain("look-at-status");
  });

  it("does not keep a lost prompt from being sent again", () => {
    const prompted = afterEvents(
      sampleFork(),
      { type: "slot-given", atMs: LATER_MS },
      { type: "child-created", run: 1, childSessionId: "child", atMs: LATER_MS },
    );
    expect(typesOf(prompted, AT_MS)).toContain("send-prompt");
  });

  it("does not keep a child that stopped from being asked for its report", () => {
    const stopped = { type: "stopped", lastText: "", changedFiles: [] } as const;
    const prompted = afterEvents(
      sampleFork(),
      { type: "slot-given", atMs: LATER_MS },
      { type: "child-created", run: 1, childSessionId: "child", atMs: LATER_MS },
      { type: "prompt-accepted", run: 1, prompt: 1, messageId: "m1", atMs: LATER_MS },
    );
    const { actions } = step(prompted, { type: "child-checked", run: 1, finding: stopped });
    expect(actions).toMatchObject([{ type: "send-prompt", prompt: { kind: "nudge" } }]);
  });

  it("does not keep a run in the queue that a rate limit sent there", () => {
    const error = { kind: "rate_limit", message: "slow down" };
    const waiting = afterEvents(runningFork(), {
      type: "child-checked",
      run: 1,
      finding: { type: "failed", error, lastText: "", changedFiles: [] },
      atMs: LATER_MS,
    });
    const view = {
      records: [waiting],
      instanceId: OWNER.instanceId,
      limits: forkLimits(defaultsOf(FORK_LIMIT_SHAPE)),
    };
    expect(nextToStart(view, AT_MS)).toEqual([waiting]);
    expect(typesOf(waiting, AT_MS)).toContain("fill-slots");
    expect(currentRun(step(waiting, { type: "slot-given" }).record).state).toBe("starting");
    expect(nextToStart(view, LATER_MS)).toEqual([]);
  });

  it.each([
    { parent: { status: "idle" } as const, does: "prompts an idle parent" },
    { parent: { status: "busy", sinceMs: LATER_MS } as const, does: "prompts a busy one" },
  ])("does not hold a result back: $does", ({ parent }) => {
    const finding = { type: "finished", text: "done", lastText: "done", changedFiles: [] } as const;
    const record = afterEvents(runningFork(), { type: "child-checked", run: 1, finding, atMs: LATER_MS });
    const view = {
      records: [record],
      instanceId: OWNER.instanceId,
      parentSessionId: "parent",
      parent,
    } as const;
    expect(planDelivery({ ...view, moment: "time", nowMs: AT_MS }).send?.way).toBe("prompt");
    expect(planDelivery({ ...view, moment: "time", nowMs: LATER_MS }).send).toBeUndefined();
  });

  it("does not keep a sent result from being looked for", () => {
    const sent = afterEvents(completedFork(), {
      type: "delivery-sent",
      run: 1,
      way: "prompt",
      atMs: LATER_MS,
    });
    const view = { records: [sent], instanceId: OWNER.instanceId, parentSessionId: "parent" } as const;
    const plan = planDelivery({ ...view, parent: { status: "idle" }, moment: "time", nowMs: AT_MS });
    expect(plan.look).toHaveLength(1);
  });
});
