import { describe, expect, it } from "vitest";
import { combineFeatures, type FeatureFailure } from "./combine-features.ts";
import type { Feature } from "./context/context.ts";
import type { FinishedTool, ToolOutputChange } from "./host/agent-host.ts";

function combined(...handlers: readonly Omit<Feature, "name">[]) {
  const failures: FeatureFailure[] = [];
  const features = handlers.map((each, index): Feature => ({ name: `feature ${index}`, ...each }));
  return { plugin: combineFeatures(features, (failure) => failures.push(failure)), failures };
}

const broken = async (): Promise<never> => {
  throw new Error("broken");
};

function finished(text: string): { readonly tool: FinishedTool; change(change: ToolOutputChange): void } {
  let shown = text;
  return {
    tool: {
      sessionId: "s",
      callId: "c",
      tool: "bash",
      get text() {
        return shown;
      },
      whole: async () => ({ text: shown }),
    },
    change: (change) => {
      shown = change.type === "append" ? shown + change.text : change.text;
    },
  };
}

describe("the features together", () => {
  it("run in their order, each after what the one before it changed", async () => {
    const appending = (text: string): Omit<Feature, "name"> => ({
      afterTool: async (done) => ({ type: "append", text: `${done.text?.length}${text}` }),
    });
    const { plugin } = combined(appending("a"), appending("b"));
    const { tool, change } = finished("");
    await plugin.afterTool(tool, change);
    expect(tool.text).toBe("0a2b");
  });

  it("are all told of a signal before the next one, however long one of them takes", async () => {
    const told: string[] = [];
    const slow = { onSignal: () => new Promise<void>((resolve) => setTimeout(resolve, 20)) };
    const { plugin } = combined(slow, { onSignal: async ({ type }) => void told.push(type) });
    const first = plugin.onSignal({ type: "idle", sessionId: "s" });
    expect(told).toEqual(["idle"]);
    await plugin.onSignal({ type: "busy", sessionId: "s" });
    await first;
    expect(told).toEqual(["idle", "busy"]);
  });

  it("go on without one that fails, keep what the others did, and report it", async () => {
    const { plugin, failures } = combined(
      { beforeRequest: async ({ messages }) => [...messages, { id: "b" }] },
      { beforeRequest: broken },
      { beforeRequest: async ({ messages }) => [...messages, { id: "c" }] },
    );
    const messages: object[] = [{ id: "a" }];
    await plugin.beforeRequest({ sessionId: "ses_1", messages, model: { provider: "p", id: "m" } });
    expect(messages).toEqual([{ id: "a" }, { id: "b" }, { id: "c" }]);
    expect(failures).toMatchObject([
      { feature: "feature 1", handler: "beforeRequest", sessionId: "ses_1", cause: new Error("broken") },
    ]);
  });

  it("refuse a call with the first reason, and ask nobody after it", async () => {
    const asked: number[] = [];
    const { plugin, failures } = combined(
      { beforeTool: broken },
      { beforeTool: async () => "No." },
      { beforeTool: async () => void asked.push(2) as undefined },
    );
    const call = { sessionId: "s", callId: "c", tool: "task", input: {} };
    expect(await plugin.beforeTool(call)).toBe("No.");
    expect(asked).toEqual([]);
    expect(failures).toHaveLength(1);
  });

  it("let a fork go no further where one fails that holds forks; a person goes on", async () => {
    const holding: Omit<Feature, "name"> = {
      holdsForks: true,
      isFork: async (sessionId) => sessionId === "fork",
      beforeRequest: broken,
      beforeTool: broken,
    };
    const { plugin } = combined({ beforeRequest: broken }, holding);
    const request = (sessionId: string) =>
      plugin.beforeRequest({ sessionId, messages: [], model: { provider: "p", id: "m" } });
    const call = (sessionId: string) =>
      plugin.beforeTool({ sessionId, callId: "c", tool: "task", input: {} });
    await expect(request("fork")).rejects.toThrow("broken");
    await expect(call("fork")).rejects.toThrow("broken");
    await request("person");
    expect(await call("person")).toBeUndefined();
    expect([await plugin.isFork("fork"), await plugin.isFork("person")]).toEqual([true, false]);
  });

  it("add all their texts to a compaction and to a message of the user", async () => {
    const { plugin } = combined(
      { beforeCompaction: async () => "one", onUserMessage: async () => undefined },
      { beforeCompaction: async () => "two", onUserMessage: async () => "three" },
    );
    expect(await plugin.beforeCompaction({ sessionId: "s" })).toEqual(["one", "two"]);
    const message = { sessionId: "s", messageId: "m", from: "user" } as const;
    expect(await plugin.onUserMessage(message)).toEqual(["three"]);
  });

  it("are told apart in a signal that names no session", async () => {
    const { plugin, failures } = combined({ onSignal: broken });
    await plugin.onSignal({ type: "ready" });
    await plugin.onSignal({ type: "deleted", sessionId: "ses_2" });
    expect(failures.map(({ sessionId }) => sessionId)).toEqual([undefined, "ses_2"]);
  });
});
