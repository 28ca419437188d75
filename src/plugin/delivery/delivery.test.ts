import { describe, expect, it } from "vitest";
import { completedFork, OWNER, runningFork, step } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import { createTestForks } from "../../../test/rig/plugin-forks.ts";
import type { ForkOwner, ForkRecord } from "../../fork/life/record.ts";
import type { HostAnswer, HostCalls } from "../../hosts/opencode/sessions.ts";
import { readSignal } from "../../hosts/opencode/signals.ts";
import { currentProcess } from "../../stores/files/lock.ts";
import { asObject } from "../../text/json.ts";
import { createForkAdoption } from "../forks/clock.ts";
import type { HostSignal } from "../host/agent-host.ts";
import { createDeliveryFeature, createParentStates } from "./delivery.ts";

const HERE: ForkOwner = { ...OWNER, process: currentProcess() };
const GONE: ForkOwner = { ...OWNER, process: { ...currentProcess(), pid: 2 ** 22 + 1 } };

function createPlugin(answer: HostAnswer = { status: "ok", body: {} }, calls?: HostCalls) {
  const { context } = createTestContext({ answer, ...(calls && { calls }) });
  const forks = createTestForks(context);
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
});
