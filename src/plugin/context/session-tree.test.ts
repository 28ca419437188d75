import { describe, expect, it } from "vitest";
import type { HostAnswer, HostCalls } from "../../hosts/opencode/host-calls.ts";
import { createOpencodeHost } from "../../hosts/opencode/server.ts";
import { readSignal } from "../../hosts/opencode/signals.ts";
import type { HostSignal } from "../host/agent-host.ts";
import { createSessionTree } from "./session-tree.ts";

const PARENTS: Readonly<Record<string, string>> = {
  grandchild: "child",
  child: "root",
  one: "two",
  two: "one",
};

function createTree(answer?: HostAnswer) {
  const asked: string[] = [];
  const calls: HostCalls = {
    call: async (_, path) => {
      const id = path.replace("/session/", "");
      asked.push(id);
      return answer ?? { status: "ok", body: { id, parentID: PARENTS[id] } };
    },
  };
  const tree = createSessionTree(createOpencodeHost({ calls, directory: "/project", env: {} }));
  return { tree, asked };
}

const about = (type: string, id: string): HostSignal =>
  readSignal({ type, properties: { info: { id } } }) ?? { type: "ready" };

describe("the root of a session", () => {
  it("is found through all its parents, and asked for once", async () => {
    const { tree, asked } = createTree();
    expect(await Promise.all([tree.rootOf("grandchild"), tree.rootOf("grandchild")])).toEqual([
      "root",
      "root",
    ]);
    expect(asked).toEqual(["grandchild", "child", "root"]);
  });

  it("is some session of a circle, and the session itself where the host does not answer", async () => {
    expect(await createTree().tree.rootOf("one")).toBe("two");
    const failed = createTree({ status: "failed", code: 500, reason: "broken" });
    expect(await failed.tree.rootOf("child")).toBe("child");
    await failed.tree.rootOf("child");
    expect(failed.asked).toEqual(["child", "child"]);
  });

  it("is known without asking from what the host tells, until the session is deleted", async () => {
    const { tree, asked } = createTree();
    tree.observe(about("session.created", "new"));
    expect(await tree.rootOf("new")).toBe("new");
    expect(asked).toEqual([]);
    tree.observe(about("session.deleted", "new"));
    await tree.rootOf("new");
    expect(asked).toEqual(["new"]);
  });

  it("is asked for again when many other sessions came between: a host runs for weeks", async () => {
    const { tree, asked } = createTree();
    await tree.rootOf("first");
    for (let index = 0; index < 5_000; index++) await tree.rootOf(`s${index}`);
    await tree.rootOf("first");
    expect(asked.filter((id) => id === "first")).toHaveLength(2);
  });
});
