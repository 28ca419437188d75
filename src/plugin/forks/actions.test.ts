import { describe, expect, it } from "vitest";
import { afterEvents, OWNER, runningFork, sampleFork, step } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import type { ForkAction } from "../../fork/life/events.ts";
import type { ForkRecord } from "../../fork/life/record.ts";
import type { HostAnswer } from "../../hosts/opencode/host-calls.ts";
import { createForkActions } from "./actions.ts";
import type { NewEvent } from "./keeper.ts";

type Answer = HostAnswer | Promise<HostAnswer>;
type Answers = Readonly<Record<string, Answer | ((body: unknown) => Answer)>>;

const OK: HostAnswer = { status: "ok", body: {} };
const BROKEN: HostAnswer = { status: "failed", code: 500, reason: "broken" };
const SILENT: HostAnswer = { status: "failed", code: "no-answer", reason: "nothing came" };
const GONE: HostAnswer = { status: "failed", code: 404, reason: "no such session" };
const body = (value: unknown): HostAnswer => ({ status: "ok", body: value });

const AGENTS = body([{ name: "build", mode: "primary", permission: [] }]);

/** A host that answers as it is told, and everything else with an empty object. */
function createHost(answers: Answers) {
  const asked: string[] = [];
  const told: NewEvent[] = [];
  const calls = {
    call: async (method: string, path: string, sent?: unknown): Promise<HostAnswer> => {
      const name = `${method} ${path}`;
      asked.push(name);
      const answer = answers[name] ?? (name === "GET /agent" ? AGENTS : OK);
      return typeof answer === "function" ? answer(sent) : answer;
    },
  };
  const { context, logged } = createTestContext({ calls });
  const keeper = {
    dispatch: async (_: string, event: NewEvent) => {
      told.push(event);
      return undefined;
    },
  };
  const actions = createForkActions({
    context,
    keeper: () => keeper as never,
    requests: context.stores.requests,
    fillSlots: () => {},
    planDelivery: () => {},
  });
  const settled = () => new Promise((resolve) => setTimeout(resolve, 30));
  const perform = async (record: ForkRecord, action: ForkAction): Promise<void> => {
    actions.perform(record, action);
    await settled();
  };
  return { context, asked, told, logged, actions, perform, settled };
}

const CREATED = { "POST /session": body({ id: "child" }) };
const create = (attempt: number): ForkAction => ({ type: "create-child", run: 1, attempt });
const STOP: ForkAction = { type: "abort-child", run: 1 };

describe("making a child", () => {
  it("gives it the rules of its parent, and its own", async () => {
    let made: unknown;
    const rule = { permission: "bash", pattern: "rm *", action: "deny" };
    const { told, perform } = createHost({
      "GET /session/parent": body({ permission: [rule] }),
      "POST /session": (sent) => {
        made = sent;
        return body({ id: "child" });
      },
    });
    await perform(sampleFork(), create(1));
    expect(made).toMatchObject({
      permission: [rule, { permission: "question" }, { permission: "task" }, { permission: "todowrite" }],
    });
    expect(told).toEqual([{ type: "child-created", run: 1, childSessionId: "child" }]);
  });

  it("is refused while the rules of its parent cannot be read: it would be allowed more", async () => {
    const { asked, told, perform } = createHost({ ...CREATED, "GET /session/parent": BROKEN });
    await perform(sampleFork(), create(1));
    expect(asked).not.toContain("POST /session");
    expect(told).toMatchObject([{ type: "child-refused", error: { message: "broken" } }]);
  });

  it("does not make a second one while nobody can say whether there is a first", async () => {
    const { asked, told, logged, perform } = createHost({
      ...CREATED,
      "GET /session/root/children": SILENT,
    });
    await perform(sampleFork(), create(2));
    expect(asked).not.toContain("POST /session");
    expect(told).toEqual([]);
    expect(logged).toEqual(["create-child of fork 1 failed"]);
  });

  it("is not begun again while it is under way", async () => {
    let finish: (answer: HostAnswer) => void = () => {};
    const made = new Promise<HostAnswer>((resolve) => {
      finish = resolve;
    });
    const { asked, told, actions, settled } = createHost({ "POST /session": made });
    actions.perform(sampleFork(), create(1));
    actions.perform(sampleFork(), create(2));
    await settled();
    finish(body({ id: "child" }));
    await settled();
    expect(asked.filter((name) => name === "POST /session")).toHaveLength(1);
    expect(told).toHaveLength(1);
  });
});

describe("a child that inherits text", () => {
  const text = async (host: ReturnType<typeof createHost>): Promise<ForkRecord> => {
    const stored = await host.context.stores.requests.put({
      messages: [{ info: { role: "user" }, parts: [{ type: "text", text: "The cat is grey." }] }],
    });
    if (stored.status === "failed") throw new Error(stored.reason);
    const inherited = { mode: "text", reason: "asked", chars: 1, messages: 1 } as const;
    return sampleFork({ inherited: { ...inherited, snapshotId: stored.blob } });
  };
  const child = {
    id: "child",
    metadata: { carryover: { id: "f1", number: 1, root: "root", parent: "parent", run: 1 } },
  };

  it("is handed it when the first attempt got no further than the session", async () => {
    const host = createHost({
      "GET /session/root/children": body([child]),
      "GET /session/child/message": body([]),
    });
    await host.perform(await text(host), create(2));
    expect(host.asked).toContain("POST /session/child/message");
    expect(host.told).toMatchObject([{ type: "child-created", childSessionId: "child" }]);
  });

  it("is not handed it twice", async () => {
    const part = { type: "text", text: "The cat is grey.", metadata: { carryover: { inherited: "f1" } } };
    const host = createHost({
      "GET /session/root/children": body([child]),
      "GET /session/child/message": body([{ info: { role: "user" }, parts: [part] }]),
    });
    await host.perform(await text(host), create(2));
    expect(host.asked).not.toContain("POST /session/child/message");
    expect(host.told).toMatchObject([{ type: "child-created", childSessionId: "child" }]);
  });
});

describe("a prompt for a child", () => {
  const { record, actions } = step(step(sampleFork(), { type: "slot-given" }).record, {
    type: "child-created",
    run: 1,
    childSessionId: "child",
  });
  const [send] = actions;
  if (send?.type !== "send-prompt") throw new Error("No prompt");

  it("that the host refuses is refused", async () => {
    const { told, perform } = createHost({ "POST /session/child/prompt_async": BROKEN });
    await perform(record, send);
    expect(told).toMatchObject([{ type: "prompt-refused", run: 1, prompt: 1 }]);
  });

  it("that the host may still take is not taken for refused: the next attempt looks for it", async () => {
    const { told, logged, perform } = createHost({ "POST /session/child/prompt_async": SILENT });
    await perform(record, send);
    expect(told).toEqual([]);
    expect(logged).toEqual(["send-prompt of fork 1 failed"]);
  });
});

describe("stopping a child", () => {
  const said = [{ info: { role: "assistant" }, parts: [{ type: "text", text: "Half of it." }] }];

  it("gives what it said last", async () => {
    const { told, perform } = createHost({ "GET /session/child/message": body(said) });
    await perform(runningFork(), STOP);
    expect(told).toMatchObject([{ type: "child-stopped", text: "Half of it." }]);
  });

  it("is not believed while the host has not done it: the child would go on spending", async () => {
    const { told, logged, perform } = createHost({ "POST /session/child/abort": BROKEN });
    await perform(runningFork(), STOP);
    expect(told).toEqual([]);
    expect(logged).toEqual(["abort-child of fork 1 failed"]);
  });

  it("waits for its last words", async () => {
    const { told, perform } = createHost({ "GET /session/child/message": SILENT });
    await perform(runningFork(), STOP);
    expect(told).toEqual([]);
  });

  it("is done when there is no such child any more", async () => {
    const { told, perform } = createHost({
      "POST /session/child/abort": GONE,
      "GET /session/child/message": GONE,
    });
    await perform(runningFork(), STOP);
    expect(told).toMatchObject([{ type: "child-stopped", text: "", changedFiles: [] }]);
  });
});

it("a permission ask that cannot be refused is logged, and one that is gone is not", async () => {
  const reject: ForkAction = { type: "reject-permission", askId: "a1", reason: "nobody is there" };
  const broken = createHost({ "POST /permission/a1/reply": BROKEN });
  await broken.perform(runningFork(), reject);
  expect(broken.logged).toEqual(["reject-permission of fork 1 failed"]);
  const gone = createHost({ "POST /permission/a1/reply": GONE });
  await gone.perform(runningFork(), reject);
  expect(gone.logged).toEqual([]);
});

describe("checking the child of a fork whose program is gone", () => {
  const message = (id: string, role: string, parts: readonly object[]) => ({
    info: { id, sessionID: "child", role, time: { created: 1, completed: 2 }, finish: "tool-calls" },
    parts: parts.map((part, index) => ({ id: `${id}_${index}`, messageID: id, sessionID: "child", ...part })),
  });
  const bash = (callID: string, state: object) => ({
    type: "tool",
    tool: "bash",
    callID,
    state: { input: {}, time: { start: 1, end: 2 }, ...state },
  });
  const prompt = (key: string) => [{ type: "text", text: "Look.", metadata: { carryover: { prompt: key } } }];
  const CHILD = {
    "GET /session/child": body({ id: "child", cost: 0.25, tokens: { input: 90, output: 10 } }),
    "GET /session/child/message": body([
      message("msg_1", "user", prompt("f1.0.1")),
      message("msg_2", "assistant", [bash("c0", { status: "completed", output: "of the run before" })]),
      message("msg_3", "user", prompt("f1.1.1")),
      message("msg_4", "assistant", [
        bash("c1", { status: "completed", output: "done" }),
        bash("c2", { status: "error", error: "You are a fork, and bash is not allowed here." }),
        bash("c3", { status: "running" }),
      ]),
    ]),
    "GET /session/status": body({}),
  };
  const check: ForkAction = { type: "check-child", run: 1, key: "f1.1.1" };
  const adopted = afterEvents(runningFork(), { type: "adopted", owner: { ...OWNER, instanceId: "i2" } });

  it("counts what it has done and cost in this run", async () => {
    const { told, perform } = createHost(CHILD);
    await perform(adopted, check);
    expect(told).toMatchObject([
      { type: "spent", costUSD: 0.25, tokens: 100 },
      { type: "child-checked", run: 1, calls: 2, finding: { type: "stopped" } },
    ]);
  });

  it("a fork of our own has been counted already", async () => {
    const { told, perform } = createHost(CHILD);
    await perform(runningFork(), check);
    expect(told).toMatchObject([{ type: "child-checked", calls: 0 }]);
  });
});
