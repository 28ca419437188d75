import { describe, expect, it } from "vitest";
import { completedFork, runningFork } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createForks } from "./forks.ts";

const createSample = () => createForks(createTestContext().context);

describe("waiting for the end of a fork", () => {
  it("is over at once for a call that was aborted before", async () => {
    const forks = createSample();
    await forks.keeper.add({ record: runningFork({ owner: forks.owner() }) });
    const wait = { limitMs: 600_000, signal: AbortSignal.abort() };
    expect(await forks.waitForEnd("f1", wait)).toBeUndefined();
  });

  it("gives the run as it ended, also if it had ended before", async () => {
    const forks = createSample();
    await forks.keeper.add({ record: completedFork({ owner: forks.owner() }) });
    const wait = { limitMs: 60_000, signal: AbortSignal.abort() };
    expect(await forks.waitForEnd("f1", wait)).toMatchObject({ state: "completed" });
  });

  it("ends with its time", async () => {
    const forks = createSample();
    await forks.keeper.add({ record: runningFork({ owner: forks.owner() }) });
    const wait = { limitMs: 10, signal: new AbortController().signal };
    expect(await forks.waitForEnd("f1", wait)).toBeUndefined();
  });
});
