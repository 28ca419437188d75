import { afterEach, describe, expect, it, vi } from "vitest";
import { HOOK_MS } from "../../agents/guarded-hook.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import type { AgentPlugin } from "../../plugin/host/agent-host.ts";
import { createHooks } from "./server.ts";

afterEach(() => void vi.useRealTimers());

function hooksOf(handlers: Partial<AgentPlugin>) {
  const failures: string[] = [];
  const plugin = { tools: {}, commands: {}, isFork: async () => false, ...handlers } as AgentPlugin;
  const calls = { call: async () => ({ status: "ok", body: {} }) as const };
  return { hooks: createHooks(plugin, { calls, onFailure: (hook) => failures.push(hook) }), failures };
}

const message = (text: string): SessionMessage =>
  ({
    info: { id: text, sessionID: "s", role: "user" },
    parts: [{ type: "text", text }],
  }) as unknown as SessionMessage;
const place = { sessionID: "s", callID: "c", tool: "bash" };

/** Runs a hook until its time is up, then lets the handler end. */
async function late(run: () => Promise<void> | undefined, letGo: () => void): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const done = Promise.resolve(run());
  await vi.advanceTimersByTimeAsync(HOOK_MS + 1);
  await done;
  letGo();
  await vi.advanceTimersByTimeAsync(1);
}

describe("a hook of OpenCode 1 that is late", () => {
  it("leaves the list of a request as it was, also when it ends later", async () => {
    let letGo = (): void => {};
    const waits = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const { hooks, failures } = hooksOf({
      async beforeRequest(request) {
        request.messages.push(message("early"));
        await waits;
        request.messages.splice(0, request.messages.length, message("late"));
      },
    });
    const messages = [message("Hello.")];
    await late(() => hooks["experimental.chat.messages.transform"]?.({}, { messages }), letGo);
    expect(messages).toEqual([message("Hello.")]);
    expect(failures).toEqual(["experimental.chat.messages.transform"]);
  });

  it("adds nothing any more to an output, a message, a compaction or a header", async () => {
    let letGo = (): void => {};
    const waits = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const { hooks } = hooksOf({
      async afterTool(_, change) {
        change({ type: "append", text: "early" });
        await waits;
        change({ type: "append", text: "late" });
      },
      onUserMessage: () => waits.then(() => ["late"]),
      beforeCompaction: () => waits.then(() => ["late"]),
      cacheOwnerOf: () => waits.then(() => "late"),
    });
    const output = { title: "", output: "whole", metadata: {} };
    const parts: Record<string, unknown>[] = [];
    const context: string[] = [];
    const headers = {};
    const chat = { sessionID: "s", agent: "a", model: { id: "m", providerID: "p" }, message: {} };
    const all = () =>
      Promise.all([
        hooks["tool.execute.after"]?.({ ...place, args: {} }, output),
        hooks["chat.message"]?.({ sessionID: "s" }, { message: {}, parts }),
        hooks["experimental.session.compacting"]?.({ sessionID: "s" }, { context }),
        hooks["chat.headers"]?.(chat, { headers }),
      ]).then(() => undefined);
    await late(all, letGo);
    expect({ output, parts, context, headers }).toEqual({
      output: { title: "", output: "whole", metadata: {} },
      parts: [],
      context: [],
      headers: {},
    });
  });

  it("stops a fork, whose request would lack what it inherits and whose call nobody has checked", async () => {
    const { hooks } = hooksOf({
      isFork: async () => true,
      beforeRequest: () => new Promise(() => {}),
      beforeTool: () => new Promise(() => {}),
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const messages = [message("Look.")];
    const refused = Promise.all([
      expect(hooks["experimental.chat.messages.transform"]?.({}, { messages })).rejects.toThrow(
        "was not sent",
      ),
      expect(hooks["tool.execute.before"]?.(place, { args: {} })).rejects.toThrow("could not be checked"),
    ]);
    await vi.advanceTimersByTimeAsync(HOOK_MS + 1);
    await refused;
  });
});
