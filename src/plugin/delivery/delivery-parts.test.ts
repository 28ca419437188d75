import { describe, expect, it } from "vitest";
import { withoutDeliveries } from "../../hosts/opencode/deliveries.ts";
import { createParentStates } from "./parents.ts";

describe("what a later child inherits of a tool output", () => {
  const state = (output: string, ride: unknown) => ({
    info: { role: "assistant" },
    parts: [{ type: "tool", state: { status: "completed", output, metadata: { carryover: { ride } } } }],
  });

  it.each([
    {
      name: "leaves the riding result out",
      output: "grey\n\nRESULT",
      ride: { offset: 4, length: 8 },
      left: "grey",
    },
    {
      name: "keeps what follows it",
      output: "grey RESULT brown",
      ride: { offset: 5, length: 7 },
      left: "grey brown",
    },
    { name: "keeps all where nothing rides", output: "grey", ride: undefined, left: "grey" },
    { name: "keeps all where the note is nonsense", output: "grey", ride: { offset: "x" }, left: "grey" },
  ])("$name", ({ output, ride, left }) => {
    const [message] = withoutDeliveries([state(output, ride)]);
    expect(message?.parts[0]).toMatchObject({ state: { output: left } });
  });

  it("is the same reference where nothing rides", () => {
    const message = state("grey", undefined);
    expect(withoutDeliveries([message])[0]).toBe(message);
  });
});

describe("the state of a parent", () => {
  const event = (type: string, properties: Readonly<Record<string, unknown>> = {}) => ({
    type,
    properties: { sessionID: "s", ...properties },
  });
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
});
