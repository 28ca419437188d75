import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import plugin from "../../src/server.ts";
import { removeFolder } from "../../test/rig/remove-folder.ts";

type Fields = Record<string, unknown>;
type Hook = (input: unknown, output?: unknown) => Promise<unknown>;

/**
 * The plugin in an OpenCode 1 that answers from memory, so that a journey needs no program beside it. With `polls: "off"` the
 * timers of the plugin's own polls do not fire: whether they do in a short journey depends on the machine alone.
 */
export async function loadPlugin({ polls = "on" }: { polls?: "on" | "off" } = {}): Promise<LoadedPlugin> {
  const store = mkdtempSync(join(tmpdir(), "carryover-journey-"));
  const sessions = new Map<string, Fields>([["ses_parent", { id: "ses_parent" }]]);
  const messages = new Map<string, Message[]>([["ses_parent", []]]);
  const sent: SentPrompt[] = [];
  const answer = (method: string, path: string, body: Fields): unknown => {
    if (method === "POST" && path === "/session") {
      const id = `ses_child${sessions.size}`;
      sessions.set(id, { ...body, id });
      messages.set(id, []);
      return sessions.get(id);
    }
    const [, sessionId = "", route = ""] = /^\/session\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
    if (path === "/session/status") return {};
    if (path === "/agent") return [{ name: "build", mode: "primary", permission: [] }];
    if (method === "GET" && route === "message") return messages.get(sessionId) ?? [];
    if (method === "POST" && (route === "prompt_async" || route === "message")) {
      const info = {
        id: `msg_${sent.length}`,
        role: "user",
        time: { created: 1 },
        ...body,
        sessionID: sessionId,
      };
      messages.get(sessionId)?.push({ info, parts: (body.parts as Fields[] | undefined) ?? [] });
      sent.push({ sessionId, route, body });
      return info;
    }
    if (method === "PATCH") sessions.set(sessionId, { ...sessions.get(sessionId), ...body });
    return sessions.get(sessionId) ?? {};
  };
  const fetch = async (request: Request): Promise<Response> => {
    const text = await request.text();
    const body = text === "" ? {} : (JSON.parse(text) as Fields);
    return Response.json(answer(request.method, new URL(request.url).pathname, body) ?? {});
  };
  const client = { _client: { getConfig: () => ({ baseUrl: "http://host.invalid", fetch }) } };
  const { setInterval } = globalThis;
  if (polls === "off") globalThis.setInterval = (() => ({ unref() {} })) as unknown as typeof setInterval;
  const hooks = (await plugin.server(
    { client, directory: store, worktree: store },
    { store, log: "off" },
  )) as unknown as Readonly<Record<string, Hook>> & {
    readonly tool: Readonly<Record<string, { readonly execute: Hook }>>;
  };
  globalThis.setInterval = setInterval;
  return {
    messages,
    sent,
    hook: async (name, input, output) => void (await hooks[name]?.(input, output)),
    async callTool(name, args) {
      const { sessionID, messageID: id, callID } = TOOL_CONTEXT;
      const state = { status: "completed", input: args, output: "", time: { start: 1, end: 2 } };
      messages.get(sessionID)?.push({
        info: { id, sessionID, role: "assistant", finish: "tool-calls", time: { created: 1 } },
        parts: [{ id: `${id}p`, type: "tool", callID, tool: name, state }],
      });
      return String(await hooks.tool[name]?.execute(args, TOOL_CONTEXT));
    },
    async until(isDone) {
      for (let tries = 0; !isDone(); tries++) {
        if (tries > 1_000) throw new Error("the plugin did not do what the journey waits for");
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    async close() {
      await hooks.dispose?.({});
      removeFolder(store);
    },
  };
}

export interface LoadedPlugin {
  readonly messages: ReadonlyMap<string, Message[]>;
  /** What the plugin has sent to sessions, oldest first. */
  readonly sent: readonly SentPrompt[];
  hook(name: string, input: unknown, output?: unknown): Promise<void>;
  callTool(name: string, args: unknown): Promise<string>;
  until(isDone: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export interface Message {
  readonly info: Fields;
  readonly parts: readonly Fields[];
}

export interface SentPrompt {
  readonly sessionId: string;
  readonly route: string;
  readonly body: Fields;
}

const TOOL_CONTEXT = {
  sessionID: "ses_parent",
  messageID: "msg_running",
  callID: "call_fork",
  agent: "build",
  abort: new AbortController().signal,
  extra: { model: { id: "m", providerID: "p" } },
  metadata: () => {},
  ask: async () => {},
};
