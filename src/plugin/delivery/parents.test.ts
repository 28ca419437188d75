import { expect, it } from "vitest";
import { createParentStates } from "./parents.ts";

const event = (type: string, properties: Readonly<Record<string, unknown>>) => ({ type, properties });
const busy = (sessionID: string) => event("session.status", { sessionID, status: { type: "busy" } });

it("forgets a session that is deleted, however the host names it", () => {
  for (const properties of [{ info: { id: "s" } }, { sessionID: "s" }]) {
    const states = createParentStates();
    states.observe(busy("s"), 1);
    states.observe(event("session.deleted", properties), 2);
    expect(states.of("s")).toEqual({ status: "idle" });
    expect(states.changeOf("s")).toBe(0);
  }
});

it("never gives the same number for two changes, also of a session that came back", () => {
  const states = createParentStates();
  states.observe(busy("s"), 1);
  const first = states.changeOf("s");
  states.observe(event("session.deleted", { sessionID: "s" }), 2);
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
