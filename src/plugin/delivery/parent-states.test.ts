import { describe, expect, it } from "vitest";
import { readSignal } from "../../hosts/opencode/signals.ts";
import type { HostSignal } from "../host/agent-host.ts";
import { createParentStates } from "./parent-states.ts";

const signal = (type: string, properties: Readonly<Record<string, unknown>>): HostSignal =>
  readSignal({ type, properties }) ?? { type: "ready" };
const busy = (sessionID: string) => signal("session.status", { sessionID, status: { type: "busy" } });

it("forgets a session that is deleted, however the host names it", () => {
  for (const properties of [{ info: { id: "s" } }, { sessionID: "s" }]) {
    const states = createParentStates();
    states.observe(busy("s"), 1);
    states.observe(signal("session.deleted", properties), 2);
    expect(states.of("s")).toEqual({ status: "idle" });
    expect(states.changeOf("s")).toBe(0);
  }
});

it("never gives the same number for two changes, also of a session that came back", () => {
  const states = createParentStates();
  states.observe(busy("s"), 1);
  const first = states.changeOf("s");
  states.observe(signal("session.deleted", { sessionID: "s" }), 2);
  states.observe(busy("s"), 3);
  expect(states.changeOf("s")).toBeGreaterThan(first);
});

it("holds no more sessions than were used lately", () => {
  const states = createParentStates();
  states.observe(busy("first"), 1);
  for (let index = 0; index < 5_000; index++) states.observe(busy(`s${index}`), 1);
  expect(states.of("first")).toEqual({ status: "idle" });
  expect(states.of("s4999")).toEqual({ status: "busy", sinceMs: 1 });
});

describe("the state of a parent", () => {
  const event = (type: string, properties: Readonly<Record<string, unknown>> = {}) =>
    signal(type, { sessionID: "s", ...properties });
  const busy = event("session.status", { status: { type: "busy" } });
  const idle = event("session.idle");
  const aborted = event("session.error", { error: { name: "MessageAbortedError" } });
  const failed = event("session.error", { error: { name: "APIError" } });

  it.each([
    { name: "idle at first", events: [], status: "idle" },
    { name: "busy while it works", events: [busy, busy], status: "busy" },
    { name: "idle after its turn", events: [busy, idle], status: "idle" },
    {
      name: "aborted after the user stopped it, through the two idles that follow",
      events: [busy, aborted, idle, idle],
      status: "aborted",
    },
    { name: "aborted although a late sign of work follows", events: [aborted, busy], status: "aborted" },
    { name: "idle after an error of the provider", events: [busy, failed, idle], status: "idle" },
    { name: "busy again after a compaction", events: [busy, event("session.compacted")], status: "busy" },
  ])("is $name", ({ events, status }) => {
    const states = createParentStates();
    for (const [index, each] of events.entries()) states.observe(each, index);
    expect(states.of("s").status).toBe(status);
  });

  it("counts busy from the end of its last tool", () => {
    const states = createParentStates();
    states.observe(busy, 5);
    states.observe(busy, 9);
    expect(states.of("s")).toEqual({ status: "busy", sinceMs: 5 });
    states.toolEnded("s", 20);
    expect(states.of("s")).toEqual({ status: "busy", sinceMs: 20 });
  });

  it("stays aborted when a stopped tool ends, until the user speaks", () => {
    const states = createParentStates();
    states.observe(aborted, 1);
    states.toolEnded("s", 2);
    expect(states.of("s").status).toBe("aborted");
    states.userSpoke("s", 3);
    expect(states.of("s").status).toBe("busy");
  });

  it("is aborted once the user has put it away, until the user speaks there", () => {
    const states = createParentStates();
    const archive = signal("session.updated", { info: { id: "s", time: { archived: 1 } } });
    states.observe(busy, 1);
    states.observe(idle, 2);
    states.observe(archive, 3);
    states.observe(idle, 4);
    expect(states.of("s").status).toBe("aborted");
    states.userSpoke("s", 5);
    states.observe(archive, 6);
    expect(states.of("s").status).toBe("busy");
  });

  it("is reverted above all while messages are taken back, and then what it was", () => {
    const states = createParentStates();
    states.observe(busy, 1);
    expect(states.setRevert("s", "m1")).toBe(true);
    expect(states.setRevert("s", "m1")).toBe(false);
    expect(states.of("s").status).toBe("reverted");
    expect(states.setRevert("s", undefined)).toBe(true);
    expect(states.of("s").status).toBe("busy");
  });
});
