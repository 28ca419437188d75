import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { opencode2 as opencode2Format } from "../../../src/formats/files/opencode2/opencode2.ts";
import { asArray, asObject } from "../../../src/text/unknown-value.ts";
import type { EventLog, HostEvent } from "../../rig/opencode/opencode-client.ts";
import { type Opencode2, startOpencode2 } from "../../rig/opencode2/start-opencode2.ts";
import { waitFor } from "../../rig/wait-for.ts";
import {
  type HostOptions,
  type HostToolCalls,
  type OpenHostRig,
  openStage,
  type RigOptions,
  type TurnPrompt,
} from "./host-rig.ts";
import type { LoadedPlugins } from "./plugin-specs.ts";

/** Starts the scripted model and the real OpenCode 2 in a sandbox, with our plugin loaded if the options ask for it. */
export async function createRig2(options: RigOptions = {}): Promise<OpenHostRig> {
  const ownSessions = new Set<string>();
  let home = "";
  // Sessions that a plugin makes have no parent in this version: the forks' records say whose they are.
  const parentOf = (sessionId: string): string | undefined =>
    ownSessions.has(sessionId) ? undefined : (parentsIn(home).get(sessionId) ?? "unknown");
  const stage = await openStage(options, { parentOf });
  const { model, sandbox } = stage;
  home = sandbox.home;
  const events: HostEvent[] = [];
  let settings: HostOptions & LoadedPlugins = options;
  let running: { readonly host: Opencode2; readonly log: EventLog } | undefined;

  const start = async (): Promise<void> => {
    const host = await startOpencode2({ sandbox, ...stage.configuration(settings) });
    running = { host, log: await host.collectEvents(events) };
  };
  const end = async (): Promise<void> => {
    const ended = running;
    running = undefined;
    await ended?.log.stop();
    await ended?.host.kill();
  };
  const call = (method: string, path: string, body?: unknown): Promise<unknown> => {
    if (running === undefined)
      throw new Error("OpenCode 2 is not running: it was killed and not started again");
    return running.host.call(method, path, body);
  };
  const data = async (path: string): Promise<unknown> => asObject(await call("GET", path)).data;
  const ofSession = (sessionId: string, path: string, body: unknown = {}): Promise<unknown> =>
    call("POST", `/api/session/${sessionId}/${path}`, body);
  const prompt = async (sessionId: string, asked: string | TurnPrompt): Promise<void> => {
    const {
      text,
      model: chosen,
      agent,
    } = typeof asked === "string" ? { text: asked } : (asked as TurnPrompt);
    if (chosen !== undefined)
      await ofSession(sessionId, "model", { model: { id: chosen.modelID, providerID: chosen.providerID } });
    if (agent !== undefined) await ofSession(sessionId, "agent", { agent });
    await ofSession(sessionId, "prompt", { text });
  };
  const waitUntilIdle = async (sessionId: string): Promise<void> => {
    await ofSession(sessionId, "wait");
  };
  const log = (): string => readIfAny(join(home, ".local", "share", "carryover", "plugin.log"));
  const stop = async (): Promise<void> => {
    await end();
    await stage.close();
  };
  try {
    if (options.start !== "later") await start();
  } catch (cause) {
    await stop();
    throw cause;
  }

  return {
    ...stage,
    host: "opencode2",
    tools: OPENCODE2_TOOLS,
    events,
    async newSession(title = "A session") {
      const location = { directory: sandbox.project };
      const made = asObject(await call("POST", "/api/session", { title, location })).data;
      const id = String(asObject(made).id);
      ownSessions.add(id);
      return id;
    },
    async turn(sessionId, asked, steps = []) {
      model.script(steps.map((step) => ({ sessionId, ...step })));
      await prompt(sessionId, asked);
      await waitUntilIdle(sessionId);
    },
    promptInBackground: prompt,
    waitUntilIdle,
    isBusy: async (sessionId) => sessionId in asObject(await data("/api/session/active")),
    async interrupt(sessionId) {
      await ofSession(sessionId, "interrupt");
    },
    async undo(sessionId) {
      const stored = asArray(await data(`/api/session/${sessionId}/context`)).map(asObject);
      await ofSession(sessionId, "revert/stage", {
        messageID: stored.findLast(({ type }) => type === "user")?.id,
      });
    },
    async redo(sessionId) {
      await ofSession(sessionId, "revert/clear");
    },
    async compact(sessionId) {
      await ofSession(sessionId, "compact");
      await waitUntilIdle(sessionId);
    },
    transcript: async (sessionId) =>
      opencode2Format.decode(asObject(await data(`/api/session/${sessionId}/export`))),
    async children(sessionId) {
      const ids = [...parentsIn(home)].filter(([, parent]) => parent === sessionId).map(([id]) => id);
      return Promise.all(
        ids.map(async (id) => ({ id, title: String(asObject(await data(`/api/session/${id}`)).title) })),
      );
    },
    waitFor,
    kill9: end,
    async restart(changes = {}) {
      await end();
      settings = { ...settings, ...changes };
      await start();
    },
    log,
    notices() {
      const lines = log().split("\n");
      return lines.flatMap((line) => /^\S+ info (.*)$/.exec(line)?.[1] ?? []);
    },
    async dump() {
      const sessions = asArray(await data("/api/session")).map((session) => String(asObject(session).id));
      const stored = sessions.map(
        async (id): Promise<[string, unknown]> => [id, await data(`/api/session/${id}/export`).catch(String)],
      );
      return Object.fromEntries(await Promise.all(stored));
    },
    stop,
  };
}

const OPENCODE2_TOOLS: HostToolCalls = {
  run: (command, id) => ({ tool: "shell", input: { command }, ...(id && { id }) }),
  read: (path, id) => ({ tool: "read", input: { path }, ...(id && { id }) }),
  delegate: (prompt, id) => ({
    tool: "subagent",
    input: { prompt, description: "Delegate", agent: "general" },
    ...(id && { id }),
  }),
  edit: (path, oldString, newString) => ({ tool: "edit", input: { path, oldString, newString } }),
  write: (path, content, id) => ({ tool: "write", input: { path, content }, ...(id && { id }) }),
};

/** Whose child each child session is, as the records of the forks say now. */
function parentsIn(home: string): ReadonlyMap<string, string> {
  const folder = join(home, ".local", "share", "carryover", "forks");
  const parents = new Map<string, string>();
  for (const file of filesIn(folder)) {
    const text = readIfAny(file);
    const [child, parent] = ["childSessionId", "parentSessionId"].map(
      (field) => new RegExp(`"${field}":"([^"]+)"`).exec(text)?.[1],
    );
    if (child !== undefined && parent !== undefined) parents.set(child, parent);
  }
  return parents;
}

function filesIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  } catch {
    return []; // There is no fork yet.
  }
}

function readIfAny(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // It was replaced while we looked.
  }
}
