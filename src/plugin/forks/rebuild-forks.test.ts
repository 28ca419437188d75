import { describe, expect, it } from "vitest";
import { sampleFork } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createTestForks } from "../../../test/rig/plugin-forks.ts";
import type { HostAnswer } from "../../hosts/opencode/calls.ts";
import { rebuildForks } from "./adopt.ts";

const BOND = { id: "f9", root: "root", parent: "parent", run: 1, way: "text", number: 3 };
const SESSION = {
  id: "child",
  title: "Fork 3: look",
  time: { created: 1, updated: Date.now() },
  metadata: { carryover: BOND },
};

function createInstance(answer: HostAnswer) {
  const { context, logged } = createTestContext({ answer });
  const forks = createTestForks(context);
  const rebuild = async () => {
    const listed = await forks.store.list();
    if (listed.status === "failed") throw new Error(listed.reason);
    return rebuildForks({ context, forks, listed, sinceMs: 0 });
  };
  return { forks, logged, rebuild };
}

describe("a fork whose record is lost", () => {
  it("is made again with the number that its parent knows", async () => {
    const { forks, logged, rebuild } = createInstance({ status: "ok", body: [SESSION] });
    expect(await rebuild()).toBe("done");
    expect(forks.keeper.get("f9")).toMatchObject({ number: 3, title: "look", childSessionId: "child" });
    expect(logged).toEqual(["the record of fork 3 was lost and was rebuilt from its session"]);
    expect(await forks.numbers.take("root")).toBe(4);
  });

  it("gets the next number where its own is taken, or not known", async () => {
    const { number: _, ...unnumbered } = BOND;
    const old = { ...SESSION, id: "old", metadata: { carryover: { ...unnumbered, id: "f8" } } };
    const { forks, rebuild } = createInstance({ status: "ok", body: [SESSION, old] });
    const stored = sampleFork({ id: "f2", number: 3 });
    await forks.store.put({ id: "f2", value: stored, expected: "missing" });
    await rebuild();
    expect([forks.keeper.get("f9")?.number, forks.keeper.get("f8")?.number]).toEqual([4, 5]);
  });

  it("is looked for again when the host did not answer", async () => {
    const { forks, rebuild } = createInstance({ status: "failed", code: "no-answer", reason: "busy" });
    expect(await rebuild()).toBe("not-done");
    expect(forks.keeper.all()).toEqual([]);
  });
});
