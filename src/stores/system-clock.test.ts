import { expect, it } from "vitest";
import { createSystemClock } from "./system-clock.ts";

it("resolves when its time has come", async () => {
  await createSystemClock().sleep(1, new AbortController().signal);
});

it("resolves at once when it is aborted, before or after the start", async () => {
  const controller = new AbortController();
  const pending = createSystemClock().sleep(1_000_000, controller.signal);
  controller.abort();
  await pending;
  await createSystemClock().sleep(1_000_000, controller.signal);
});

it("tells milliseconds since 1970", () => {
  expect(createSystemClock().now()).toBeGreaterThan(1_700_000_000_000);
});

it("keeps the process alive while something is waited for, and no longer", async () => {
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
  const before = timers();
  const controller = new AbortController();
  const pending = createSystemClock().sleep(1_000_000, controller.signal);
  expect(timers()).toBe(before + 1);
  controller.abort();
  await pending;
  expect(timers()).toBe(before);
});
