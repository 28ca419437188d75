import { describe, expect, it } from "vitest";
import { AT_MS, OWNER, runningFork } from "../../../test/rig/forks/fork-samples.ts";
import { canAdopt, createLease, leaseRecordId, leaseState, readLease } from "./lease.ts";

const lease = (heartbeatAtMs: number) =>
  createLease({ instanceId: "i1", process: OWNER.process }, heartbeatAtMs);

describe("leaseState", () => {
  it.each([
    {
      name: "a running process holds, however long it slept",
      process: "running",
      afterMs: 9e9,
      state: "held",
    },
    { name: "a process that is gone has lost at once", process: "gone", afterMs: 0, state: "lost" },
    { name: "an unknown process holds for 30 s", process: "unknown", afterMs: 30_000, state: "held" },
    { name: "an unknown process has lost after 30 s", process: "unknown", afterMs: 30_001, state: "lost" },
    { name: "a clock that went back proves nothing", process: "unknown", afterMs: -99_000, state: "held" },
  ] as const)("$name", ({ process, afterMs, state }) => {
    expect(leaseState(OWNER, { process, nowMs: AT_MS + afterMs })).toBe(state);
  });

  it("counts the newer of the record's and the instance's sign of life", () => {
    const seen = { process: "unknown", nowMs: AT_MS + 60_000 } as const;
    expect(leaseState(OWNER, { ...seen, lease: lease(AT_MS + 40_000) })).toBe("held");
    expect(leaseState(OWNER, { ...seen, lease: lease(AT_MS - 1) })).toBe("lost");
  });
});

describe("by the clock of the store", () => {
  const dated = (heartbeatAtMs: number) =>
    ({ process: "unknown", nowMs: AT_MS, lease: lease(heartbeatAtMs) }) as const;

  it("a heartbeat dated ahead keeps nothing for an owner that is gone", () => {
    expect(leaseState(OWNER, { ...dated(AT_MS + 3_600_000), ageMs: 30_001 })).toBe("lost");
  });

  it("a step of our own clock robs nobody", () => {
    expect(leaseState(OWNER, { ...dated(AT_MS - 60_000), ageMs: 4_000 })).toBe("held");
  });
});

describe("a lease", () => {
  it("lets nobody adopt what is his own, or what another still holds", () => {
    const seen = { nowMs: AT_MS, process: "gone" } as const;
    expect(canAdopt(runningFork(), { ...seen, instanceId: "i1" })).toBe(false);
    expect(canAdopt(runningFork(), { ...seen, instanceId: "i2" })).toBe(true);
    expect(canAdopt(runningFork(), { ...seen, process: "running", instanceId: "i2" })).toBe(false);
  });

  it("is read back from its record, and nothing else is", () => {
    expect(readLease(JSON.parse(JSON.stringify(lease(AT_MS))))).toEqual(lease(AT_MS));
    expect(leaseRecordId("i1")).toBe("instance-i1");
    for (const value of [undefined, null, 1, "x", [], {}, runningFork(), { ...lease(1), process: null }]) {
      expect(readLease(value)).toBeUndefined();
    }
  });

  it("is not read where a single field of it is wrong", () => {
    const whole = lease(AT_MS);
    const process = (change: object) => ({ ...whole, process: { ...whole.process, ...change } });
    for (const value of [
      { ...whole, schema: "instance/2" },
      { ...whole, instanceId: 1 },
      { ...whole, heartbeatAtMs: "1" },
      { ...whole, process: "h" },
      process({ host: 1 }),
      process({ pid: "7" }),
      process({ start: undefined }),
    ]) {
      expect(readLease(value), JSON.stringify(value)).toBeUndefined();
    }
  });
});
