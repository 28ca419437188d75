import { describe, expect, it } from "vitest";
import { runningFork } from "../../../../test/rig/forks/fork-samples.ts";
import { createTestContext } from "../../../../test/rig/plugin-context.ts";
import { waitFor } from "../../../../test/rig/wait-for.ts";
import { currentRun } from "../../../fork/life/record.ts";
import type { HostAnswer } from "../../../hosts/opencode/host-calls.ts";
import { createForks } from "../forks.ts";
import { createChildLimits } from "./limits.ts";

/** A running child whose session has cost so much. */
async function createChild(fork: object, session: { cost: number } = { cost: 0 }) {
  const stops: string[] = [];
  const call = async (method: string, path: string): Promise<HostAnswer> => {
    if (path.endsWith("/abort")) stops.push(path);
    if (path.endsWith("/message")) return { status: "ok", body: [] };
    return { status: "ok", body: method === "GET" ? { id: "child", cost: session.cost } : {} };
  };
  const { context } = createTestContext({ options: { fork }, calls: { call } });
  const forks = createForks(context);
  await forks.keeper.add({ record: runningFork({ owner: forks.owner() }) });
  const limits = createChildLimits({ context, forks });
  const answer = (id: string) => ({
    info: { id, role: "assistant", sessionID: "child", finish: "tool-calls" },
    parts: [],
  });
  return {
    forks,
    stops,
    run: () => currentRun(forks.keeper.all()[0] as never),
    request: async (...answers: readonly string[]) => {
      const messages = answers.map(answer);
      const model = { provider: "p", id: "m" };
      const sent = await limits.beforeRequest({ sessionId: "child", messages, model });
      return JSON.stringify((sent as readonly object[] | undefined)?.at(-1) ?? "as it was");
    },
    call: (callId: string) =>
      limits.beforeTool({ sessionId: "child", callId, tool: "read", input: { callId } }),
  };
}

describe("the limits of a child", () => {
  it("are exact for calls that come at once", async () => {
    const { call, run } = await createChild({ maxToolCalls: 4 });
    const refusals = await Promise.all(["1", "2", "3", "4", "5", "6"].map(call));
    expect(refusals.map((text) => text?.slice(0, 28))).toEqual([
      ...Array(4).fill(undefined),
      ...Array(2).fill("All tool calls are used up. "),
    ]);
    expect(run().calls.total).toBe(4);
  });

  it("hold for a server that gives every answer's call the same id", async () => {
    const { request, call, run } = await createChild({ maxToolCalls: 3 });
    const refusals: (string | undefined)[] = [];
    for (const answer of ["a1", "a2", "a3", "a4"]) {
      refusals.push(await call("call_0"));
      await request(answer);
    }
    expect(refusals.map((text) => text?.slice(0, 27))).toEqual([
      ...Array(3).fill(undefined),
      "All tool calls are used up.",
    ]);
    expect(run().calls.total).toBe(3);
  });

  it("count a call once that is told of twice", async () => {
    const { call, run } = await createChild({});
    await Promise.all([call("call_0"), call("call_0")]);
    expect(run().calls.total).toBe(1);
  });

  it("know what the last answer cost before the next request, which is then for the report", async () => {
    const session = { cost: 1.99 };
    const { request, call } = await createChild({}, session);
    expect(await request("a1")).toContain("as it was");
    session.cost = 2;
    expect(await request("a1", "a2")).toContain("The budget of this fork is spent.");
    expect(await call("c1")).toContain("Report now");
  });

  it("count what all forks of the root have cost", async () => {
    const { request, forks } = await createChild({ forkUSD: 0.7 }, { cost: 0.6 });
    const sibling = runningFork({ id: "f2", owner: forks.owner() });
    await forks.keeper.add({ record: { ...sibling, childSessionId: "other" } });
    await forks.keeper.dispatch("f2", { type: "spent", costUSD: 2.9, tokens: 1, steps: 1 });
    expect(await request("a1")).toContain("The budget for all forks of this session is spent.");
  });

  it("stop a child that asks once more after the answer that was to be its report", async () => {
    const { request, run, stops } = await createChild({}, { cost: 2 });
    await request("a1");
    expect(await request("a1")).toContain("Report now");
    expect(stops).toEqual([]);
    await request("a1", "a2");
    expect(stops).toEqual(["/session/child/abort"]);
    await waitFor(() => run().state === "failed", "the end");
  });

  it("hold the request of a child that is being stopped until it has stopped, and refuse its calls", async () => {
    const { forks, request, call, run } = await createChild({});
    void forks.keeper.dispatch("f1", { type: "cancel-asked", reason: "no" });
    const refusal = await call("c1");
    expect(refusal).toContain("was stopped");
    await request("a1");
    expect(run().state).toBe("cancelled");
    expect(await call("c2")).toBeUndefined();
  });

  it("leave sessions alone that are no children", async () => {
    const { context } = createTestContext();
    const limits = createChildLimits({ context, forks: createForks(context) });
    const call = { sessionId: "ses_other", callId: "c", tool: "read", input: {} };
    expect(await limits.beforeTool(call)).toBeUndefined();
  });
});
