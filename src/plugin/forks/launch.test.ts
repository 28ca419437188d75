import { describe, expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createTestForks } from "../../../test/rig/plugin-forks.ts";
import { launchFork } from "./launch.ts";

/** One instance of the plugin, on a store of its own or that of another one. */
function createInstance(store?: string) {
  const { context, folder } = createTestContext(store === undefined ? {} : { store });
  const forks = createTestForks(context);
  const launch = async (): Promise<number | string> => {
    const launched = await launchFork({
      context,
      forks,
      request: {
        sessionId: "parent",
        caller: "build",
        prompt: "Look.",
        title: "look",
        model: { id: "m", provider: "p" },
      },
    });
    return launched.status === "launched" ? launched.record.number : launched.reason;
  };
  return { folder, forks, launch };
}

describe("launching a fork", () => {
  it("gives it a number that no other has, also if two programs fork one root at the same moment", async () => {
    const first = createInstance();
    const second = createInstance(first.folder);
    const numbers = await Promise.all([first, second, first, second].map(({ launch }) => launch()));
    expect(numbers.toSorted()).toEqual([1, 2, 3, 4]);
  });

  it("refuses more at once than the limits allow", async () => {
    const { forks, launch } = createInstance();
    const { maxRunning, maxQueued } = forks.limits;
    const answers = await Promise.all(Array.from({ length: maxRunning + maxQueued + 2 }, launch));
    expect(answers.filter((answer) => typeof answer === "string")).toHaveLength(2);
    expect(forks.keeper.all()).toHaveLength(maxRunning + maxQueued);
  });
});
