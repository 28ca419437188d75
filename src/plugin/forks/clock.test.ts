import { describe, expect, it, onTestFinished } from "vitest";
import { runningFork } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import { createTestForks } from "../../../test/rig/plugin-forks.ts";
import { createForkClockFeature } from "./clock.ts";

const START = { event: { type: "server.connected", properties: {} } };

function createClock() {
  const { context, logged } = createTestContext();
  const forks = createTestForks(context);
  let isFull = false;
  const store = {
    ...forks.store,
    put: (async (write) =>
      isFull
        ? { status: "failed", code: "ENOSPC", reason: "no space left" }
        : forks.store.put(write)) as typeof forks.store.put,
  };
  let nowMs = Date.now();
  const timed = { ...context, now: () => nowMs };
  const hooks = hooksOf([createForkClockFeature({ context: timed, forks: { ...forks, store } })]);
  onTestFinished(async () => hooks.dispose?.());
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  const fill = (): void => {
    isFull = true;
  };
  return { forks, hooks, logged, pass, fill };
}

describe("the clock of the forks", () => {
  it("gives signs of life while a fork runs, and takes the last one back when it ends", async () => {
    const { forks, hooks } = createClock();
    await forks.keeper.add({ record: runningFork({ owner: forks.owner() }) });
    await hooks.event?.(START);
    const id = `instance-${forks.owner().instanceId}`;
    expect((await forks.store.get(id)).status).toBe("found");
    await hooks.dispose?.();
    expect((await forks.store.get(id)).status).toBe("missing");
  });

  it("says once that it could not, not every few seconds", async () => {
    const { forks, hooks, logged, pass, fill } = createClock();
    await forks.keeper.add({ record: runningFork({ owner: forks.owner() }) });
    fill();
    await hooks.event?.(START);
    const warnings = () => logged.filter((line) => line.includes("sign of life"));
    expect(warnings()).toHaveLength(1);
    pass(20_000);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(warnings()).toHaveLength(1);
  });
});
