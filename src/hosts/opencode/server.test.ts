import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { removeFolder } from "../../../test/rig/remove-folder.ts";
import type { Hooks, ToolContext } from "./hooks.ts";
import { createOpencodeHost, createServer, hostEnvironment } from "./server.ts";

const cleanUp: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const each of cleanUp.splice(0).reverse()) await each();
});

it("the host's own cap of the answer is the plugin's, unless ours is set", () => {
  const host = { OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX: "8000" };
  expect(hostEnvironment(host).CARRYOVER_OUTPUT_TOKEN_MAX).toBe("8000");
  const ours = { ...host, CARRYOVER_OUTPUT_TOKEN_MAX: "9000" };
  expect(hostEnvironment(ours).CARRYOVER_OUTPUT_TOKEN_MAX).toBe("9000");
  expect(hostEnvironment({}).CARRYOVER_OUTPUT_TOKEN_MAX).toBeUndefined();
});

it.each([
  [["run", "Hi."], "headless"],
  [["--print-logs", "--log-level", "DEBUG", "run", "Hi."], "headless"],
  [["github", "run"], "headless"],
  [["github", "run", "--event", "{}"], "headless"],
  [["github", "install"], "attended"],
  [["runner"], "attended"],
  [["serve"], "attended"],
  [["some/folder"], "attended"],
  [[], "attended"],
] as const)("knows from its arguments whether a person is there: %j", (args, attendance) => {
  const calls = { call: async () => ({ status: "ok", body: {} }) as const };
  expect(createOpencodeHost({ calls, directory: "/", env: {}, args }).attendance).toBe(attendance);
});

describe("/subtask", () => {
  async function subtask(text: string, given = "find it") {
    const parts: Record<string, unknown>[] = [
      { type: "text", text },
      { type: "file", url: "file:///a" },
    ];
    const hooks = await load(createFakeHost());
    const input = { command: "subtask", sessionID: "ses_parent", arguments: given };
    await hooks["command.execute.before"]?.(input, { parts });
    return parts;
  }

  it("shows what was typed, and says the rest to the model only", async () => {
    const config: { command?: Record<string, { template: string }> } = {};
    await (await load(createFakeHost())).config?.(config);
    const template = config.command?.subtask?.template ?? "";
    const text = template.replace("$ARGUMENTS", "find it");
    expect(await subtask(text)).toEqual([
      { type: "text", text: "/subtask find it" },
      { type: "text", text, synthetic: true },
      { type: "file", url: "file:///a" },
    ]);
    const bare = template.replace("$ARGUMENTS", "").trim();
    expect((await subtask(bare, ""))[0]).toEqual({ type: "text", text: "/subtask" });
  });

  it("is answered with the new name under its old one", async () => {
    const config: { command?: Record<string, { template: string }> } = {};
    await (await load(createFakeHost())).config?.(config);
    expect(config.command?.handoff?.template).toContain("/handoff is now called /subtask");
  });

  it("of the user's own stays as it is", async () => {
    expect(await subtask("My own words: find it")).toHaveLength(2);
  });
});

describe("a fork in a host that does not show its messages", () => {
  it("gets the conversation as text, and people are told", async () => {
    const host = createFakeHost();
    const hooks = await load(host);
    const answer = await callTool(hooks, "fork", { prompt: "Look." });
    expect(answer).toContain("(text: this host did not show its messages");
    await host.until((call) => call.path.endsWith("/prompt_async"));
    const context = host.bodyOf("POST", /\/session\/ses_child1\/message$/);
    expect(context).toMatchObject({ noReply: true, parts: [{ type: "text", synthetic: true }] });
    expect(JSON.stringify(context)).toContain("The cat is grey.");
    const toasts = () => host.calls.filter(({ path }) => path.endsWith("show-toast"));
    await expect.poll(() => JSON.stringify(toasts())).toContain("they get it as text");
  });
});

describe("a fork that cannot inherit anything", () => {
  it("says so to the parent and to the child", async () => {
    const host = createFakeHost({ broken: /\/session\/ses_parent\/message$/ });
    const hooks = await load(host);
    const answer = await callTool(hooks, "fork", { prompt: "Look." });
    expect(answer).toContain("WARNING: no context was inherited (the parent's messages could not be read");
    await host.until((call) => call.path.endsWith("/prompt_async"));
    expect(JSON.stringify(host.bodyOf("POST", /prompt_async$/))).toContain(
      "No context was inherited from the parent session",
    );
  });

  it("does not start when the options say so", async () => {
    const host = createFakeHost({ broken: /\/session\/ses_parent\/message$/ });
    const hooks = await load(host, { fork: { onForkError: "fail" } });
    expect(await callTool(hooks, "fork", { prompt: "Look." })).toContain(
      "Not started: the parent's messages could not be read",
    );
    expect(host.calls.some(({ method, path }) => method === "POST" && path === "/session")).toBe(false);
  });

  it("says so when the parent's conversation is empty", async () => {
    const host = createFakeHost({ messages: [] });
    const hooks = await load(host);
    await show(hooks, [userMessage("Hello.")]);
    expect(await callTool(hooks, "fork", { prompt: "Look." })).toContain("It inherited 1 message");
    const empty = await load(createFakeHost({ messages: [] }));
    expect(await callTool(empty, "fork", { prompt: "Look." })).toContain(
      "the parent's conversation is empty",
    );
  });
});

describe("a child", () => {
  it("sees what it inherited in front of its own messages, and nothing else sees it", async () => {
    const host = createFakeHost();
    const hooks = await load(host);
    const view = [userMessage("The dog is brown."), userMessage("Fork it.")];
    await show(hooks, view);
    await callTool(hooks, "fork", { prompt: "Look." });
    view.push(userMessage("Said later."));
    await host.until((call) => call.path.endsWith("/prompt_async"));
    const shown = await show(hooks, [userMessage("The task.", "ses_child1")]);
    expect(shown.map(textOf)).toEqual(["The dog is brown.", "Fork it.", "The task."]);
    expect(await show(hooks, [userMessage("Alone.", "ses_other")])).toHaveLength(1);
  });

  it("does not change for another plugin's edits of an earlier request", async () => {
    const host = createFakeHost();
    const hooks = await load(host);
    await show(hooks, [userMessage("The dog is brown.")]);
    await callTool(hooks, "fork", { prompt: "Look." });
    await host.until((call) => call.path.endsWith("/prompt_async"));
    const first = await show(hooks, [userMessage("The task.", "ses_child1")]);
    Object.assign(first[0]?.parts[0] ?? {}, { text: "Changed." });
    const second = await show(hooks, [userMessage("The task.", "ses_child1")]);
    expect(second.map(textOf)).toEqual(["The dog is brown.", "The task."]);
  });

  it("is told when what it inherited is lost", async () => {
    const lost = {
      id: "fk_1",
      number: 1,
      root: "ses_parent",
      parent: "ses_parent",
      run: 1,
      mode: "full",
      blob: "0".repeat(64),
    };
    const host = createFakeHost({
      sessions: { ses_lost: { id: "ses_lost", metadata: { carryover: lost } } },
    });
    const hooks = await load(host);
    const shown = await show(hooks, [userMessage("The task.", "ses_lost")]);
    expect(textOf(shown[0])).toContain("could not be loaded");
    expect(shown).toHaveLength(2);
  });

  it("no longer sees it once a summary of its own covers it", async () => {
    const host = createFakeHost();
    const hooks = await load(host);
    await show(hooks, [userMessage("The dog is brown.")]);
    await callTool(hooks, "fork", { prompt: "Look." });
    await host.until((call) => call.path.endsWith("/prompt_async"));
    const failed = {
      ...summary("ses_child1"),
      info: { ...summary("ses_child1").info, error: { name: "X" } },
    };
    expect(await show(hooks, [failed, userMessage("On.", "ses_child1")])).toHaveLength(3);
    expect(await show(hooks, [summary("ses_child1"), userMessage("On.", "ses_child1")])).toHaveLength(2);
    // The host leaves the summary out when it compacts again.
    expect(await show(hooks, [userMessage("On.", "ses_child1")])).toHaveLength(1);
  });
});

describe("every hook", () => {
  const faults = [
    { name: "a host that answers 500", options: { broken: /./ } },
    { name: "a host that cannot be reached", options: { unreachable: true } },
    { name: "a host that answers nonsense", options: { nonsense: true } },
  ] as const;
  it.each(faults)("lets the conversation go on with $name", async ({ options }) => {
    const hooks = await load(createFakeHost(options));
    const messages = [userMessage("Hello.")];
    await show(hooks, messages);
    expect(messages.map(textOf)).toEqual(["Hello."]);
    const output = { title: "t", output: "o", metadata: {} };
    await hooks["tool.execute.after"]?.(
      { tool: "bash", sessionID: "ses_parent", callID: "c", args: {} },
      output,
    );
    expect(output.output).toBe("o");
    await hooks["tool.execute.before"]?.(
      { tool: "task", sessionID: "ses_parent", callID: "c" },
      { args: {} },
    );
    const params = { options: { promptCacheKey: "ses_parent" } };
    await hooks["chat.params"]?.(chatInput(), params);
    expect(params.options).toEqual({ promptCacheKey: "ses_parent" });
    const headers = { headers: {} };
    await hooks["chat.headers"]?.(chatInput(), headers);
    expect(headers.headers).toEqual({});
    const parts: Record<string, unknown>[] = [];
    await hooks["chat.message"]?.({ sessionID: "ses_parent" }, { message: { id: "msg_1" }, parts });
    expect(parts).toEqual([]);
    await hooks["experimental.session.compacting"]?.({ sessionID: "ses_parent" }, { context: [] });
    for (const type of [
      "session.idle",
      "session.error",
      "session.status",
      "session.deleted",
      "session.updated",
    ]) {
      await hooks.event?.({
        event: { type, properties: { sessionID: "ses_parent", info: { id: "ses_parent" } } },
      });
    }
    for (const tool of ["fork", "fork_result", "fork_cancel", "recall"]) {
      expect(typeof (await callTool(hooks, tool, { prompt: "x", id: "1", handle: "h" }))).toBe("string");
    }
  });

  it.each([
    null,
    undefined,
    5,
    [],
    {},
    { messages: null },
    { messages: [null, 5, {}] },
    { messages: [{ info: null, parts: null }] },
  ])("survives %j as its input and output", async (value) => {
    const hooks = await load(createFakeHost());
    for (const [name, hook] of Object.entries(hooks)) {
      if (typeof hook !== "function" || name === "dispose") continue;
      await (hook as (input: unknown, output: unknown) => Promise<void>)(value, value);
    }
  });
});

function chatInput() {
  return { sessionID: "ses_parent", agent: "build", model: { id: "m", providerID: "p" }, message: {} };
}

async function load(host: FakeHost, options: Readonly<Record<string, unknown>> = {}): Promise<Hooks> {
  const store = mkdtempSync(join(tmpdir(), "carryover-plugin-"));
  const hooks = await createServer(
    { client: host.client, directory: store, worktree: store },
    { store, log: "off", ...options },
  );
  cleanUp.push(() => removeFolder(store));
  cleanUp.push(async () => hooks.dispose?.());
  return hooks;
}

type Message = { info: Record<string, unknown> & { role: string }; parts: { type: string; text: string }[] };

async function show(hooks: Hooks, messages: Message[]): Promise<Message[]> {
  await hooks["experimental.chat.messages.transform"]?.({}, { messages });
  return messages;
}

function userMessage(text: string, sessionID = "ses_parent"): Message {
  const id = `msg_${text.length}_${sessionID}`;
  const info = { id, sessionID, role: "user", agent: "build", model: { providerID: "p", modelID: "m" } };
  return { info, parts: [{ type: "text", text }] };
}

function summary(sessionID: string): Message {
  return {
    info: { id: "msg_s", sessionID, role: "assistant", summary: true, finish: "stop" },
    parts: [{ type: "text", text: "Sum." }],
  };
}

function textOf(message: Message | undefined): string {
  return message?.parts[0]?.text ?? "";
}

async function callTool(hooks: Hooks, tool: string, args: unknown): Promise<string> {
  const context: ToolContext = {
    sessionID: "ses_parent",
    messageID: "msg_running",
    callID: "call_1",
    agent: "build",
    abort: new AbortController().signal,
    extra: { model: { id: "m", providerID: "p" } },
    metadata: () => {},
    ask: async () => {},
  };
  return (await hooks.tool?.[tool]?.execute(args, context)) as string;
}

interface FakeHostOptions {
  /** Paths that answer 500. */
  readonly broken?: RegExp;
  readonly unreachable?: true;
  readonly nonsense?: true;
  readonly messages?: readonly Message[];
  readonly sessions?: Readonly<Record<string, unknown>>;
}

interface HostCall {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

interface FakeHost {
  readonly client: unknown;
  readonly calls: readonly HostCall[];
  until(condition: (call: HostCall) => boolean): Promise<void>;
  bodyOf(method: string, path: RegExp): unknown;
}

/** Answers the plugin's calls as OpenCode would, from memory. */
function createFakeHost(options: FakeHostOptions = {}): FakeHost {
  const calls: HostCall[] = [];
  const sessions = new Map<string, unknown>(
    Object.entries({ ses_parent: { id: "ses_parent" }, ...options.sessions }),
  );
  const stored = options.messages ?? [userMessage("The cat is grey.")];
  const answer = ({ method, path, body }: HostCall): unknown => {
    if (method === "POST" && path === "/session") {
      const id = `ses_child${sessions.size}`;
      sessions.set(id, { ...(body as object), id });
      return sessions.get(id);
    }
    if (path === "/session/ses_parent/message" && method === "GET") return stored;
    if (path.endsWith("/message")) return [];
    if (path === "/session/status") return {};
    if (path === "/agent") return [{ name: "build", mode: "primary", permission: [] }];
    return sessions.get(path.replace("/session/", "")) ?? {};
  };
  const fetch = async (request: Request): Promise<Response> => {
    if (options.unreachable) throw new Error("no connection");
    const text = await request.text();
    const call = {
      method: request.method,
      path: new URL(request.url).pathname,
      body: text === "" ? undefined : JSON.parse(text),
    };
    calls.push(call);
    if (options.nonsense) return new Response("<html>");
    if (options.broken?.test(call.path)) return new Response("broken", { status: 500 });
    if (call.path.endsWith("/prompt_async")) return new Response(null, { status: 204 });
    return Response.json(answer(call));
  };
  return {
    client: { _client: { getConfig: () => ({ baseUrl: "http://host.invalid", fetch }) } },
    calls,
    async until(condition) {
      await expect.poll(() => calls.some(condition), { timeout: 20_000 }).toBe(true);
    },
    bodyOf: (method, path) => calls.findLast((call) => call.method === method && path.test(call.path))?.body,
  };
}
