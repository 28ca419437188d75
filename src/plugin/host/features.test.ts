import { describe, expect, it } from "vitest";
import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import type { Hooks } from "../../hosts/opencode/hooks.ts";
import { combineHooks, type Feature, type HookFailure, ToolRefusal } from "./features.ts";

function combined(...hooks: readonly Hooks[]): { readonly hooks: Hooks; readonly failures: HookFailure[] } {
  const failures: HookFailure[] = [];
  const features: readonly Feature[] = hooks.map((each, index) => ({
    name: `feature ${index}`,
    hooks: each,
  }));
  return { hooks: combineHooks(features, (failure) => failures.push(failure)), failures };
}

const message = (id: string): SessionMessage => ({ info: { id, role: "user" }, parts: [] });

describe("the hooks of all features together", () => {
  it("run in the order of the features", async () => {
    const appending = (text: string): Hooks => ({
      "tool.execute.after": async (_, output) => {
        output.output += text;
      },
    });
    const { hooks } = combined(appending("1"), appending("2"));
    const output = { title: "", output: "", metadata: {} };
    await hooks["tool.execute.after"]?.({ tool: "t", sessionID: "s", callID: "c", args: {} }, output);
    expect(output.output).toBe("12");
  });

  it("tell every feature of an event before the next one, however long another feature takes", async () => {
    const told: string[] = [];
    const slow: Hooks = { event: () => new Promise((resolve) => setTimeout(resolve, 20)) };
    const { hooks } = combined(slow, { event: async ({ event }) => void told.push(event.type) });
    const first = hooks.event?.({ event: { type: "session.idle", properties: {} } });
    expect(told).toEqual(["session.idle"]);
    await hooks.event?.({ event: { type: "session.status", properties: {} } });
    await first;
    expect(told).toEqual(["session.idle", "session.status"]);
  });

  it("put back what a failing feature changed, keep what the others did, and report it", async () => {
    const { hooks, failures } = combined(
      {
        "experimental.chat.messages.transform": async (_, output) => void output.messages.push(message("b")),
      },
      {
        "experimental.chat.messages.transform": async (_, output) => {
          output.messages.splice(0, 2, message("x"));
          throw new Error("broken");
        },
      },
    );
    const messages = [message("a")];
    await hooks["experimental.chat.messages.transform"]?.({}, { messages });
    expect(messages.map(({ info }) => info.id)).toEqual(["a", "b"]);
    expect(failures).toMatchObject([{ feature: "feature 1", hook: "experimental.chat.messages.transform" }]);
  });

  it.each(["tool.execute.after", "chat.message", "chat.params", "chat.headers", "event", "config"] as const)(
    "never throw out of %s",
    async (name) => {
      const failing = async (_: unknown, output: unknown): Promise<void> => {
        for (const value of Object.values(output as object)) {
          if (Array.isArray(value)) value.push(1);
          else Object.assign(value, { added: 1 });
        }
        throw new Error("broken");
      };
      const { hooks, failures } = combined({ [name]: failing } as Hooks);
      const output = { options: { a: 1 }, headers: { b: "2" }, parts: [], metadata: { c: 3 } };
      await (hooks[name] as (input: unknown, output: unknown) => Promise<void>)({}, output);
      expect(output).toEqual({ options: { a: 1 }, headers: { b: "2" }, parts: [], metadata: { c: 3 } });
      expect(failures).toHaveLength(1);
    },
  );

  it("let a refusal of a tool call through, since that is how the model hears of it", async () => {
    const { hooks } = combined({
      "tool.execute.before": async () => {
        throw new ToolRefusal("Do it yourself.");
      },
    });
    const call = hooks["tool.execute.before"]?.({ tool: "t", sessionID: "s", callID: "c" }, { args: {} });
    await expect(call).rejects.toThrow("Do it yourself.");
  });
});
