import { describe, expect, it } from "vitest";
import { completedFork, OWNER, runningFork, step } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import type { ForkOwner, ForkRecord } from "../../fork/life/record.ts";
import type { HostAnswer, HostCalls } from "../../hosts/opencode/host-calls.ts";
import { currentProcess } from "../../stores/files/process-identity.ts";
import { asObject } from "../../text/unknown-value.ts";
import { createForkAdoption } from "../forks/adopt-forks.ts";
import { createForks } from "../forks/forks.ts";
import { createDeliveryFeature } from "./fork-results.ts";

const HERE: ForkOwner = { ...OWNER, process: currentProcess() };
const GONE: ForkOwner = { ...OWNER, process: { ...currentProcess(), pid: 2 ** 22 + 1 } };

function createPlugin(answer: HostAnswer = { status: "ok", body: {} }, calls?: HostCalls) {
  const { context } = createTestContext({ answer, ...(calls && { calls }) });
  const forks = createForks(context);
  const hooks = hooksOf([createDeliveryFeature({ context, forks })]);
  return { context, forks, hooks, left: createForkAdoption({ context, forks }) };
}

type Plugin = ReturnType<typeof createPlugin>;

/** Stores a fork as somebody else would. */
async function store({ forks }: Plugin, record: ForkRecord): Promise<void> {
  // Old ones are deleted.
  const runs = record.runs.map((run) => ("endedAtMs" in run ? { ...run, endedAtMs: Date.now() } : run));
  await forks.store.put({ id: record.id, value: { ...record, runs }, expected: "missing" });
}

async function endTool({ hooks }: Plugin, output: unknown = "done"): Promise<Record<string, unknown>> {
  const result = { title: "bash", output: output as string, metadata: {} };
  await hooks["tool.execute.after"]?.(
    { tool: "bash", sessionID: "parent", callID: "call", args: {} },
    result,
  );
  return result;
}

async function speak({ hooks }: Plugin, metadata: unknown = undefined): Promise<string> {
  const parts: Record<string, unknown>[] = [{ type: "text", text: "Hello.", metadata }];
  await hooks["chat.message"]?.({ sessionID: "parent" }, { message: { id: "msg_1" }, parts });
  return JSON.stringify(parts.slice(1));
}

const mine = (plugin: Plugin, record = completedFork({ owner: plugin.forks.owner() })): ForkRecord => record;
const deliveryOf = ({ forks }: Plugin) =>
  forks.keeper.get("f1")?.runs.map((run) => "delivery" in run && run.delivery);

describe("a result", () => {
  it("rides on one tool output only, with its place in the metadata", async () => {
    const plugin = createPlugin();
    await plugin.forks.keeper.add({ record: mine(plugin) });
    const outputs = await Promise.all([endTool(plugin), endTool(plugin)]);
    const [carrier, ...others] = outputs.filter(({ output }) =>
      String(output).includes("The bug is in a.ts:1."),
    );
    expect(others).toEqual([]);
    const { ride } = asObject(asObject(carrier?.metadata).carryover);
    expect(ride).toEqual({ offset: "done".length, length: String(carrier?.output).length - "done".length });
    expect(String((await endTool(plugin)).output)).toBe("done");
  });

  it("is not sent by who could not store that it is sent", async () => {
    const plugin = createPlugin();
    await plugin.forks.keeper.add({ record: mine(plugin) });
    const found = await plugin.forks.store.get("f1");
    if (found.status !== "found") throw new Error(found.status);
    const taken = step(mine(plugin), { type: "adopted", owner: HERE }).record;
    await plugin.forks.store.put({ id: "f1", value: taken, expected: found.version });
    expect(await endTool(plugin)).toMatchObject({ output: "done", metadata: {} });
    expect(plugin.forks.keeper.get("f1")).toBeUndefined();
  });

  it("is not given to a tool output that is no text", async () => {
    const plugin = createPlugin();
    await plugin.forks.keeper.add({ record: mine(plugin) });
    expect(await endTool(plugin, null)).toEqual({ title: "bash", output: null, metadata: {} });
    expect(deliveryOf(plugin)).toMatchObject([{ state: "pending" }]);
  });

  it("does not go with a message of our own", async () => {
    const plugin = createPlugin();
    await plugin.forks.keeper.add({ record: mine(plugin) });
    expect(await speak(plugin, { carryover: true })).toBe("[]");
    expect(await speak(plugin, { carryover: { prompt: "f1.1.1" } })).toBe("[]");
    expect(await speak(plugin)).toContain("The bug is in a.ts:1.");
    expect(await speak(plugin)).toBe("[]");
  });
});

it("a parent that comes to rest during a look gets its result then, not when it was to be asked while it was busy", async () => {
  const asked: string[] = [];
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const plugin = createPlugin(undefined, {
    async call(method, path) {
      asked.push(`${method} ${path}`);
      if (path === "/session/parent/message") await gate;
      return { status: "ok", body: [] };
    },
  });
  const tell = (type: string, properties: object) =>
    plugin.hooks.event?.({ event: { type, properties: { sessionID: "parent", ...properties } } });
  const sent = step(mine(plugin), { type: "delivery-sent", run: 1, way: "prompt" }).record;
  const pending = completedFork({ id: "f2", number: 2, owner: plugin.forks.owner() });
  await plugin.forks.keeper.add({ record: sent });
  await plugin.forks.keeper.add({ record: { ...pending, childSessionId: "child2" } });
  await tell("session.status", { status: { type: "busy" } });
  await plugin.forks.keeper.dispatch("f1", { type: "tick" });
  await expect.poll(() => asked).toContain("GET /session/parent/message");
  await tell("session.idle", {});
  open();
  await expect.poll(() => asked, { timeout: 10_000 }).toContain("POST /session/parent/prompt_async");
});

describe("what other instances have left", () => {
  it("is taken when its program is gone, and wakes nobody", async () => {
    const plugin = createPlugin();
    await store(plugin, completedFork({ owner: GONE }));
    await plugin.left.takeUnfinished();
    expect(deliveryOf(plugin)).toMatchObject([{ state: "pending", isHeld: true }]);
    expect(await speak(plugin)).toContain("The bug is in a.ts:1.");
  });

  it("is looked for before it is sent again, and then goes with the same message", async () => {
    const plugin = createPlugin();
    const sent = { type: "delivery-sent", run: 1, way: "prompt" } as const;
    await store(plugin, step(completedFork({ owner: GONE, rootSessionId: "parent" }), sent).record);
    expect(await speak(plugin)).toContain("The bug is in a.ts:1.");
    expect(await speak(plugin)).toBe("[]");
  });

  it("is left alone while its program runs", async () => {
    const plugin = createPlugin();
    await store(plugin, runningFork({ owner: HERE }));
    await plugin.left.takeUnfinished();
    await plugin.left.takeRoot("root");
    expect(plugin.forks.keeper.all()).toEqual([]);
  });

  it("comes to the instance to which the user speaks, if it is at rest", async () => {
    const plugin = createPlugin();
    await store(plugin, completedFork({ owner: HERE, rootSessionId: "parent" }));
    expect(await speak(plugin)).toContain("The bug is in a.ts:1.");
    expect(await speak(plugin)).toBe("[]");
  });

  it("stays where it is while it is on its way", async () => {
    const plugin = createPlugin();
    const sent = step(completedFork({ owner: HERE, rootSessionId: "parent" }), {
      type: "delivery-sent",
      run: 1,
      way: "prompt",
    }).record;
    await store(plugin, sent);
    expect(await speak(plugin)).toBe("[]");
    expect(plugin.forks.keeper.all()).toEqual([]);
  });

  it("is put away when the parent is gone, also if it was gone at the start", async () => {
    const plugin = createPlugin({ status: "failed", code: 404, reason: "no such session" });
    await store(plugin, completedFork({ owner: GONE }));
    await plugin.left.takeUnfinished();
    expect(deliveryOf(plugin)).toMatchObject([{ state: "acked", closedBy: "parent-deleted" }]);
  });

  it("is not put away when the host only fails to answer", async () => {
    const plugin = createPlugin({ status: "failed", code: "no-answer", reason: "busy" });
    await store(plugin, completedFork({ owner: GONE }));
    await plugin.left.takeUnfinished();
    expect(deliveryOf(plugin)).toMatchObject([{ state: "pending" }]);
  });
});

it("a result is not sent to a parent of which messages were taken back a moment before, and comes once they are restored", async () => {
  let revert: unknown;
  let reads = 0;
  const sent: string[] = [];
  const plugin = createPlugin(undefined, {
    async call(method, path) {
      if (method === "POST") sent.push(path);
      if (path === "/session/parent/message") {
        reads += 1;
        // Between the decision to send and the message.
        if (reads === 2) revert = { messageID: "msg_1" };
        return { status: "ok", body: [] };
      }
      return { status: "ok", body: { id: "parent", ...(revert !== undefined && { revert }) } };
    },
  });
  await plugin.forks.keeper.add({ record: mine(plugin) });
  await plugin.forks.keeper.dispatch("f1", { type: "tick" });
  await expect.poll(() => reads, { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
  await expect
    .poll(() => deliveryOf(plugin), { timeout: 10_000 })
    .toMatchObject([{ state: "pending", sends: 0 }]);
  for (let tick = 0; tick < 3; tick++) await plugin.forks.keeper.dispatch("f1", { type: "tick" });
  expect(sent).toEqual([]);
  revert = undefined;
  await plugin.hooks.event?.({ event: { type: "session.updated", properties: { info: { id: "parent" } } } });
  await plugin.forks.keeper.dispatch("f1", { type: "tick" });
  await expect.poll(() => sent, { timeout: 10_000 }).toEqual(["/session/parent/prompt_async"]);
});

it("a tool that ends while messages are taken back carries nothing", async () => {
  const plugin = createPlugin({ status: "ok", body: { id: "parent", revert: { messageID: "msg_1" } } });
  await plugin.forks.keeper.add({ record: mine(plugin) });
  expect(await endTool(plugin)).toMatchObject({ output: "done", metadata: {} });
  expect(deliveryOf(plugin)).toMatchObject([{ state: "pending" }]);
});
