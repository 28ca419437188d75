import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  contextEvent,
  createFakeContext,
  type FakeContextSetup,
  userMessage,
} from "../../../test/rig/opencode2/setup-context.ts";
import { removeFolder } from "../../../test/rig/remove-folder.ts";
import { HOOK_MS } from "../../agents/guarded-hook.ts";
import plugin from "../../server.ts";

async function load(setup: Omit<FakeContextSetup, "directory"> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "carryover-opencode2-"));
  // What a hook that was left behind still writes may come in between: this one looks again, the other form does not.
  onTestFinished(() => removeFolder(directory));
  const options = { store: directory, log: "error", ...setup.options };
  const host = createFakeContext({ directory, ...setup, options });
  const end = await plugin.setup(host.context);
  onTestFinished(async () => end?.());
  host.change("ses_parent", { agent: "build", model: { id: "m", providerID: "p" } });
  const call = { sessionID: "ses_parent", id: "call_1", messageID: "msg_call", agent: "build" };
  return { ...host, directory, end, call };
}

/** The parent has said something, and one request of it was sent. */
async function speak(host: Awaited<ReturnType<typeof load>>) {
  host.store("ses_parent", userMessage("msg_1", "Remember 4711."));
  const event = contextEvent("ses_parent", host.messagesOf("ses_parent"));
  await host.run("context", event);
  return event;
}

const childOf = (host: Awaited<ReturnType<typeof load>>): string =>
  String(host.taken.find(({ type }) => type === "prompt")?.sessionID);

afterEach(() => void vi.useRealTimers());

describe("the entry", () => {
  it("does nothing with the small context of OpenCode 1, whose `setup` it is too", async () => {
    const small = { options: {}, agent: {}, catalog: {}, command: {}, plugin: {} };
    expect(await plugin.setup(small)).toBeUndefined();
    expect(await plugin.setup(undefined)).toBeUndefined();
    expect(Object.keys(plugin)).toEqual(["id", "server", "setup"]);
  });

  it("adds the tools with a schema for the provider, outside of the tool that runs JavaScript, and the command", async () => {
    const { tools, commands } = await load();
    expect([...tools.keys()]).toEqual(["fork", "fork_result", "fork_cancel", "recall"]);
    for (const { options, input } of tools.values()) {
      expect(options).toEqual({ codemode: false });
      expect(input).toMatchObject({ type: "object", additionalProperties: false });
      expect(JSON.parse(JSON.stringify(input))).toEqual(input);
    }
    expect(tools.get("fork")?.input).toMatchObject({ required: ["prompt"] });
    expect(commands.get("subtask")).toMatchObject({ template: expect.stringContaining("$ARGUMENTS") });
  });

  it("finds what a later version names differently: the folder, the models, commands that run", async () => {
    const added: { readonly name: string; execute(call: unknown): Promise<void> }[] = [];
    const models = vi.fn(async () => []);
    const host = await load({
      changes: {
        location: { directory: "/elsewhere" },
        catalog: undefined,
        model: { list: models },
        command: {
          transform: async (change: (draft: unknown) => void) =>
            change({ add: (command: (typeof added)[number]) => added.push(command) }),
        },
      },
    });
    await speak(host);
    expect(models).toHaveBeenCalled();
    await added[0]?.execute({ sessionID: "ses_parent", arguments: "count $1" });
    expect(host.taken).toMatchObject([{ text: expect.stringMatching(/^Hand this over [^\n]*: count \$1$/) }]);
  });

  it("ends its subscription when it is unloaded", async () => {
    const host = await load();
    await expect.poll(host.subscriptions).toBe(1);
    await host.end?.();
    host.publish("session.renamed", { sessionID: "ses_parent" });
    await expect.poll(host.subscriptions).toBe(0);
  });
});

describe("a fork", () => {
  it("sends its parent's system prompt, tools and messages in front of its own, and stores none of them", async () => {
    const host = await load();
    const parent = await speak(host);
    const { content } = (await host.tools.get("fork")?.execute({ prompt: "Look." }, host.call)) ?? {};
    expect(content).toContain("(full:");
    await expect.poll(() => childOf(host)).toMatch(/^ses_/);
    const child = childOf(host);
    expect(host.session(child)).toMatchObject({ agent: "build", model: { id: "m", providerID: "p" } });
    const event = contextEvent(child, host.messagesOf(child));
    event.tools = { write: { description: "Writes", input: {} } };
    await host.run("context", event);
    expect(event.system).toEqual(parent.system);
    expect(event.tools).toEqual(parent.tools);
    expect(JSON.stringify(event.messages)).toMatch(/Remember 4711\..*Look\./);
    expect(JSON.stringify(host.messagesOf(child))).not.toContain("4711");
    const request = { sessionID: child, headers: { "x-session-affinity": child, "X-Session-Id": child } };
    await host.run("model.request", request);
    expect(request.headers).toEqual({ "x-session-affinity": "ses_parent", "X-Session-Id": child });
    const body = JSON.stringify({ prompt_cache_key: child, messages: [] });
    const http = { sessionID: child, request: new Request("http://p.invalid", { method: "POST", body }) };
    await host.run("http.request", http);
    expect(await http.request.json()).toEqual({ prompt_cache_key: "ses_parent", messages: [] });
  });

  it("brings its report to the parent under an id that is always the same, with the report for people", async () => {
    const host = await load();
    await speak(host);
    await host.tools.get("fork")?.execute({ prompt: "Look." }, host.call);
    await expect.poll(() => childOf(host)).toMatch(/^ses_/);
    const child = childOf(host);
    host.publish("session.execution.started", { sessionID: child });
    host.store(child, { id: "msg_a", role: "assistant", content: [{ type: "text", text: "It is grey." }] });
    host.publish("session.execution.succeeded", { sessionID: child });
    const results = () => host.taken.filter(({ type }) => type === "synthetic");
    await expect.poll(() => results().length, { timeout: 20_000 }).toBe(1);
    expect(results()[0]).toMatchObject({
      sessionID: "ses_parent",
      id: expect.stringMatching(/^msg_[0-9a-f]{12}_carryover_/),
      text: expect.stringContaining("It is grey."),
      description: "Fork 1 (Look.) completed\nIt is grey.",
      delivery: "steer",
      resume: true,
    });
    expect(host.sent).toEqual([]);
  });

  it("is not started where a rule wants to be asked first, and the model reads what to allow", async () => {
    const rules = [
      { action: "*", resource: "*", effect: "allow" },
      { action: "subagent", resource: "*", effect: "ask" },
    ];
    const host = await load({ rules });
    await speak(host);
    const { content } = (await host.tools.get("fork")?.execute({ prompt: "Look." }, host.call)) ?? {};
    expect(content).toContain('permissions, subagent, "build": "allow"');
    expect(host.taken).toEqual([]);
  });

  it.each([
    { subagent: "deny", fork: "allow", starts: true },
    { subagent: "allow", fork: "deny", starts: false },
  ])("obeys rules about fork alone where there are any: %o", async ({ subagent, fork, starts }) => {
    const rules = [
      { action: "*", resource: "*", effect: "allow" },
      { action: "subagent", resource: "*", effect: subagent },
      { action: "fork", resource: "*", effect: fork },
    ];
    const host = await load({ rules });
    await speak(host);
    const { content } = (await host.tools.get("fork")?.execute({ prompt: "Look." }, host.call)) ?? {};
    expect(String(content).includes("A rule of the user denies it (permission fork).")).toBe(!starts);
  });

  it("of another agent may do no more than who asked for it", async () => {
    const rules = [
      { action: "*", resource: "*", effect: "allow" },
      { action: "edit", resource: "*", effect: "deny" },
      { action: "shell", resource: "git push*", effect: "ask" },
    ];
    const host = await load({ rules });
    await speak(host);
    await host.tools.get("fork")?.execute({ prompt: "Look.", agent: "free" }, host.call);
    await expect.poll(() => childOf(host)).toMatch(/^ses_/);
    let answer = 0;
    const tried = async (tool: string, input: object): Promise<string> => {
      const call = { sessionID: childOf(host), messageID: `msg_${++answer}`, id: `c${answer}`, tool, input };
      return host.run("execute.before", call).then(
        () => "done",
        (error: Error) => error.message,
      );
    };
    expect(await tried("write", { path: "a.ts" })).toContain("write is not allowed here");
    expect(await tried("shell", { command: "git push origin" })).toContain("shell is not allowed here");
    expect(await tried("shell", { command: "true && $(echo git) push" })).toContain("not allowed");
    expect(await tried("shell", { command: "git status" })).toBe("done");
    expect(await tried("read", { path: "a.ts" })).toBe("done");
    expect(await tried("subagent", {})).toContain("cannot start subagents");
  });
});

describe("a tool output", () => {
  const long = Array.from({ length: 9_000 }, (_, line) => `${line} a line`).join("\n");
  const ended = (content: unknown) => ({
    tool: "grep",
    sessionID: "ses_parent",
    id: "call_2",
    status: "completed",
    result: { content, metadata: { matches: 3 } } as { content: unknown; metadata: unknown },
  });

  it("that is too long keeps both ends; its metadata says so and can be stored", async () => {
    const host = await load();
    const event = ended([{ type: "text", text: long }]);
    await host.run("execute.after", event);
    const { content, metadata } = event.result;
    expect(JSON.stringify(content)).toMatch(
      /0 a line.*handle and sha256 [0-9a-f]{64}.*8999 a line|8999 a line.*handle/,
    );
    expect(metadata).toMatchObject({
      matches: 3,
      truncated: true,
      carryover: { handle: expect.any(String) },
    });
    expect(JSON.parse(JSON.stringify(metadata))).toStrictEqual(metadata);
  });

  it("that is short, failed or a picture stays as it is", async () => {
    const host = await load();
    const picture = [{ type: "file", uri: "data:image/png;base64,AA==", mime: "image/png" }];
    for (const event of [ended("short"), ended(picture), { ...ended(""), status: "error", error: {} }]) {
      const before = structuredClone(event);
      await host.run("execute.after", event);
      expect(event).toEqual(before);
    }
  });
});

it("a request that is only there to be read does not go out, not even where we were not shown it", async () => {
  const left: string[] = [];
  const host = await load({ options: { fork: { inherit: "text" } } });
  const session = host.context.session as { generate(asked: { prompt: string }): Promise<void> };
  session.generate = async ({ prompt }) => {
    const request = new Request("http://p.invalid", { method: "POST", body: JSON.stringify({ prompt }) });
    await host.run("http.request", { sessionID: "ses_parent", request });
    left.push(prompt);
  };
  await speak(host);
  const { content } = (await host.tools.get("recall")?.execute({ search: "cat" }, host.call)) ?? {};
  expect(content).toContain("could not be read");
  expect(left).toEqual([]);
});

describe("a hook of ours", () => {
  it("that hangs does not let a fork's call through, which it has to check; a person's call goes on", async () => {
    const host = await load();
    await speak(host);
    await host.tools.get("fork")?.execute({ prompt: "Look.", agent: "free" }, host.call);
    await expect.poll(() => childOf(host)).toMatch(/^ses_/);
    const { agent } = host.context as { agent: { list: () => Promise<unknown> } };
    let isAsked = false;
    agent.list = () => {
      isAsked = true;
      return new Promise(() => {});
    };
    const ask = (sessionID: string) =>
      host.run("execute.before", { ...host.call, sessionID, tool: "write", input: { path: "a.ts" } });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const refused = expect(ask(childOf(host))).rejects.toThrow("could not be checked");
    while (!isAsked) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(HOOK_MS + 1);
    await refused;
    vi.useRealTimers();
    await ask("ses_parent");
  });

  it("that hangs is left behind after its time, and the request is what it was, also when it ends later", async () => {
    let answer = (_: unknown): void => {};
    const hanging = new Promise((resolve) => {
      answer = resolve;
    });
    const host = await load({ changes: { catalog: { model: { list: () => hanging } } } });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const event = contextEvent("ses_parent", [userMessage("msg_1", "Hello.")]);
    const before = structuredClone(event);
    const done = host.run("context", event);
    await vi.advanceTimersByTimeAsync(HOOK_MS + 1);
    await done;
    expect(event).toEqual(before);
    answer({ data: [] });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(event).toEqual(before);
  });

  it("that throws ends no turn: not with a request, not with a call, not with its output", async () => {
    const host = await load();
    const broken = new Proxy(
      {},
      {
        get: () => {
          throw new Error("broken");
        },
      },
    );
    await host.run("context", { ...contextEvent("ses_parent", []), messages: [broken, broken] });
    await host.run("execute.after", {
      status: "completed",
      result: broken,
      tool: "x",
      sessionID: "s",
      id: "c",
    });
    await host.run("model.request", { sessionID: "ses_parent", headers: undefined });
    await host.run("http.request", { sessionID: "ses_parent", request: undefined });
  });
});
