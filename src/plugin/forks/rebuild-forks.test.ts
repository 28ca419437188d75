import { describe, expect, it } from "vitest";
import { sampleFork } from "../../../test/rig/forks/fork-samples.ts";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import type { HostAnswer } from "../../hosts/opencode/host-calls.ts";
import { createForks } from "./forks.ts";
import { rebuildForks } from "./rebuild-forks.ts";

const ASKED_BY = { messageId: "msg_1", callId: "call_1" };
const LINK = { id: "f9", root: "root", parent: "parent", run: 1, mode: "text", number: 3, askedBy: ASKED_BY };
const SESSION = {
  id: "child",
  title: "Fork 3: look",
  time: { created: 1, updated: Date.now() },
  metadata: { carryover: LINK },
};

const answer = (id: string, parts: readonly object[]) => ({
  info: { id, sessionID: "parent", role: "assistant", finish: "stop", time: { created: 1, completed: 2 } },
  parts: parts.map((part, index) => ({ id: `${id}_${index}`, messageID: id, sessionID: "parent", ...part })),
});
const LAUNCH = answer("msg_1", [
  {
    type: "tool",
    tool: "fork",
    callID: "call_1",
    state: { status: "completed", input: {}, output: "Fork 3 started.", title: "", metadata: {}, time: {} },
  },
]);
const delivered = (deliveryId: string) =>
  answer("msg_2", [{ type: "text", text: `<fork_result delivery="${deliveryId}" fork="3">` }]);

interface TestHost {
  /** What the host says when it is asked for its sessions. */
  readonly sessions?: readonly object[] | HostAnswer;
  /** What is stored of the parent. */
  readonly messages?: readonly object[];
  readonly parent?: HostAnswer;
}

function createInstance({ sessions = [SESSION], messages = [LAUNCH], parent }: TestHost = {}) {
  const ok = (body: unknown): HostAnswer => ({ status: "ok", body });
  const { context, logged } = createTestContext({
    calls: {
      async call(_, path) {
        if (path.startsWith("/session?")) return "status" in sessions ? sessions : ok(sessions);
        if (path.endsWith("/message")) return ok(path.startsWith("/session/parent") ? messages : []);
        return (path === "/session/parent" ? parent : undefined) ?? ok({});
      },
    },
  });
  const forks = createForks(context);
  const rebuild = async () => {
    const listed = await forks.store.list();
    if (listed.status === "failed") throw new Error(listed.reason);
    return rebuildForks({ context, forks, listed, sinceMs: 0 });
  };
  return { forks, logged, rebuild };
}

describe("a fork whose record is lost and whose parent waits for it", () => {
  it("is made again with the number that its parent knows", async () => {
    const { forks, logged, rebuild } = createInstance();
    expect(await rebuild()).toBe("done");
    expect(forks.keeper.get("f9")).toMatchObject({ number: 3, title: "look", childSessionId: "child" });
    expect(logged).toEqual(["the record of fork 3 was lost and was rebuilt from its session"]);
    expect(await forks.numbers.take("root")).toBe(4);
  });

  it("gets the next number where its own is taken", async () => {
    const { forks, rebuild } = createInstance({ sessions: [SESSION] });
    const stored = sampleFork({ id: "f2", number: 3 });
    await forks.store.put({ id: "f2", value: stored, expected: "missing" });
    await rebuild();
    expect(forks.keeper.get("f9")?.number).toBe(4);
  });

  it("is looked for again when the host did not answer", async () => {
    const noAnswer = { status: "failed", code: "no-answer", reason: "busy" } as const;
    for (const host of [{ sessions: noAnswer }, { parent: noAnswer }]) {
      const { forks, rebuild } = createInstance(host);
      expect(await rebuild()).toBe("not-done");
      expect(forks.keeper.all()).toEqual([]);
    }
  });
});

describe("a child whose record is gone is left alone", () => {
  const revert = { status: "ok", body: { revert: { messageID: "msg_2" } } } as const;
  it.each<[string, TestHost]>([
    ["once its result was delivered", { messages: [LAUNCH, delivered("f9.1")] }],
    [
      "while the message that brought its result is taken back",
      { messages: [LAUNCH, delivered("f9.1")], parent: revert },
    ],
    ["once the user went on without the message that asked for it", { messages: [] }],
    ["once its parent was deleted", { parent: { status: "failed", code: 404, reason: "gone" } }],
  ])("%s", async (_, host) => {
    const { forks, logged, rebuild } = createInstance(host);
    expect(await rebuild()).toBe("done");
    expect(forks.keeper.all()).toEqual([]);
    expect(logged).toEqual([]);
  });

  it("but not because another run of it was delivered", async () => {
    const { forks, rebuild } = createInstance({ messages: [LAUNCH, delivered("f9.2")] });
    await rebuild();
    expect(forks.keeper.all()).toHaveLength(1);
  });
});
