import { describe, expect, it } from "vitest";
import {
  AT_MS,
  afterEvents,
  completedFork,
  OWNER,
  runningFork,
  sampleFork,
} from "../../../test/rig/forks/fork-samples.ts";
import { defaultsOf } from "../../text/check.ts";
import {
  type AdmissionRequest,
  admitFork,
  findFork,
  nextForkNumber,
  nextToStart,
  rootCostUSD,
} from "./admit.ts";
import { forbiddenText } from "./child-rules.ts";
import { FORK_LIMIT_SHAPE, forkLimits } from "./limits.ts";
import type { ForkRecord } from "./record.ts";

const many = (count: number, make: (change: { id: string; number: number }) => ForkRecord) =>
  Array.from({ length: count }, (_, index) => make({ id: `f${index}`, number: index + 1 }));
const viewOf = (records: readonly ForkRecord[]) => ({
  records,
  instanceId: OWNER.instanceId,
  limits: forkLimits(defaultsOf(FORK_LIMIT_SHAPE)),
});
const anew: AdmissionRequest = { type: "new", rootSessionId: "root", isInsideFork: false };
const resumed: AdmissionRequest = { type: "resume", forkId: "f1" };
const spending = (costUSD: number): ForkRecord =>
  afterEvents(completedFork(), { type: "spent", costUSD, tokens: 0, steps: 0 });
const verdict = (records: readonly ForkRecord[], request: AdmissionRequest = anew) => {
  const admission = admitFork(viewOf(records), request);
  return admission.status === "admitted" ? admission.place : admission.reason;
};

describe("admitFork", () => {
  it("gives 4 forks a slot, lets 16 wait and refuses the 21st", () => {
    const verdicts = Array.from({ length: 21 }, (_, count) => verdict(many(count, sampleFork)));
    expect(verdicts.slice(0, 4)).toEqual(["slot", "slot", "slot", "slot"]);
    expect(new Set(verdicts.slice(4, 20))).toEqual(new Set(["queue"]));
    expect(verdicts[20]).toBe("queue-full");
  });

  it("says how many run and wait, and what to do", () => {
    const records = [
      ...many(4, runningFork),
      ...many(16, (change) => sampleFork({ ...change, id: `q${change.id}` })),
    ];
    expect(admitFork(viewOf(records), anew)).toEqual({
      status: "refused",
      reason: "queue-full",
      text: "4 forks run and 16 wait; more are not allowed. Wait for results, cancel one, or do it yourself.",
    });
  });

  it("says of one fork that it runs or waits", () => {
    const limits = { ...forkLimits(defaultsOf(FORK_LIMIT_SHAPE)), maxRunning: 1, maxQueued: 1 };
    const view = viewOf([runningFork(), sampleFork({ id: "f2", number: 2 })]);
    expect(admitFork({ ...view, limits }, anew)).toMatchObject({
      text: expect.stringMatching(/^1 fork runs and 1 waits; more/),
    });
  });

  it.each([
    [
      "per-root",
      many(40, completedFork),
      anew,
      "This session has had 40 forks, and more are not allowed. Resume one, or do it yourself.",
    ],
    ["root-cost", [spending(10)], anew, "The forks of this session have spent $10. Do it yourself."],
    ["fork-cost", [spending(2)], resumed, "This fork has spent $2. Start another one, or do it yourself."],
    [
      "unknown",
      [sampleFork({ id: "f9" })],
      resumed,
      "There is no such fork. Call fork_result without an id for a list.",
    ],
    [
      "stopping",
      [afterEvents(runningFork(), { type: "cancel-asked", reason: "no" })],
      resumed,
      "This fork is being stopped. Resume it once it has ended.",
    ],
    [
      "stopping",
      [afterEvents(runningFork(), { type: "adopted", owner: { ...OWNER, instanceId: "i2" } })],
      resumed,
      "This fork was left behind by a program that ended. Resume it once that is settled.",
    ],
  ] as const)("says what to do instead: %s", (reason, records, request, text) => {
    expect(admitFork(viewOf(records), request)).toEqual({ status: "refused", reason, text });
  });

  it("asks of a fork to resume what its own root has spent, not another's", () => {
    const other = sampleFork({ id: "f9", rootSessionId: "other" });
    expect(verdict([spending(10), other], { type: "resume", forkId: "f9" })).not.toBe("root-cost");
    expect(verdict([other, spending(10)], resumed)).toBe("root-cost");
  });

  it("refuses the 41st fork of a root, but not of another", () => {
    expect(verdict(many(39, completedFork))).toBe("slot");
    expect(verdict(many(40, completedFork))).toBe("per-root");
    expect(verdict(many(40, completedFork), { ...anew, rootSessionId: "other" })).toBe("slot");
    expect(verdict(many(40, completedFork), { type: "resume", forkId: "f1" })).toBe("slot");
  });

  it("lets a fork that only reports go to its end before it is resumed, and says why it only reports", () => {
    const wrapping = afterEvents(runningFork({ id: "f1" }), { type: "root-cost-reached" });
    const admission = admitFork(viewOf([wrapping]), { type: "resume", forkId: "f1" });
    expect(admission).toMatchObject({ status: "refused", reason: "stopping" });
    expect(admission.status === "refused" && admission.text).toMatch(
      /^\S.+ This fork only reports now\. Resume it once it has ended\.$/,
    );
  });

  it("tells a fork to do it itself", () => {
    expect(admitFork(viewOf([]), { ...anew, isInsideFork: true })).toMatchObject({
      reason: "depth",
      text: forbiddenText("fork"),
    });
  });

  it("refuses when the money of the root is spent, or that of the fork to resume", () => {
    const spent = (costUSD: number) => ({ type: "spent", costUSD, tokens: 0, steps: 0 }) as const;
    const records = many(6, completedFork).map((record) => afterEvents(record, spent(1.7)));
    expect(rootCostUSD(records)).toBeCloseTo(10.2);
    expect(verdict(records)).toBe("root-cost");
    expect(verdict([afterEvents(completedFork(), spent(2))], { type: "resume", forkId: "f1" })).toBe(
      "fork-cost",
    );
  });

  it("steers a live fork, and none that is being stopped, left behind or unknown", () => {
    const resume = { type: "resume", forkId: "f1" } as const;
    expect(verdict([runningFork()], resume)).toBe("steer");
    expect(verdict([afterEvents(runningFork(), { type: "cancel-asked", reason: "no" })], resume)).toBe(
      "stopping",
    );
    const owner = { ...OWNER, instanceId: "i2" };
    expect(verdict([afterEvents(runningFork(), { type: "adopted", owner })], resume)).toBe("stopping");
    expect(verdict([], resume)).toBe("unknown");
  });

  it("does not count the slots of other instances", () => {
    const foreign = many(20, (change) => runningFork({ ...change, owner: { ...OWNER, instanceId: "i2" } }));
    expect(verdict(foreign)).toBe("slot");
  });
});

describe("nextToStart", () => {
  it("starts the longest waiting first, as many as there are slots", () => {
    const waiting = [
      sampleFork({ id: "late", number: 3, atMs: AT_MS + 2 }),
      sampleFork({ id: "second", number: 2 }),
      sampleFork({ id: "first", number: 1 }),
    ];
    const records = [...many(2, runningFork), ...waiting];
    expect(nextToStart(viewOf(records), AT_MS).map(({ id }) => id)).toEqual(["first", "second"]);
    expect(nextToStart(viewOf([...many(4, runningFork), ...waiting]), AT_MS)).toEqual([]);
  });

  it("lets nothing start before its time, and does not hold up others for it", () => {
    const error = { kind: "rate_limit", message: "429" };
    const limited = afterEvents(
      sampleFork(),
      { type: "slot-given" },
      { type: "child-refused", run: 1, error },
    );
    const records = [limited, sampleFork({ id: "f2", number: 2, atMs: AT_MS + 1 })];
    expect(nextToStart(viewOf(records), AT_MS + 14_999).map(({ id }) => id)).toEqual(["f2"]);
    expect(nextToStart(viewOf(records), AT_MS + 15_000).map(({ id }) => id)).toEqual(["f1", "f2"]);
  });
});

it.each([
  ["3", 3],
  ["#3", 3],
  ["Fork #3", 3],
  [" fork 3 ", 3],
  ["fork3", 3],
  ["f3", 3],
  [" f3 ", 3],
  ["x3", undefined],
  ["afork 3", undefined],
  ["f", undefined],
  ["33", undefined],
])("finds a fork by its id or number: %s", (name, number) => {
  const records = many(4, (change) => sampleFork({ ...change, id: `f${change.number}` }));
  expect(findFork(records, { rootSessionId: "root", name })?.number).toBe(number);
  expect(findFork(records, { rootSessionId: "other", name })).toBeUndefined();
});

it("numbers forks within their root", () => {
  expect(nextForkNumber([], "root")).toBe(1);
  expect(nextForkNumber([sampleFork({ number: 7 }), sampleFork({ number: 3 })], "root")).toBe(8);
  expect(nextForkNumber([sampleFork({ number: 7 })], "other")).toBe(1);
});
