import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionExport } from "../../../src/formats/wires/opencode/decode-messages.ts";
import { opencode as opencodeFormat } from "../../../src/formats/wires/opencode/opencode.ts";
import type { Transcript } from "../../../src/transcript/message.ts";
import type { Step } from "../../rig/model-server/step.ts";
import { installOpenCode } from "../../rig/opencode/install-opencode.ts";
import {
  collectEvents,
  type EventLog,
  type HostEvent,
  type Prompt,
} from "../../rig/opencode/opencode-client.ts";
import { importSessions } from "../../rig/opencode/recording.ts";
import { type CommandResult, runOpenCode } from "../../rig/opencode/run-opencode.ts";
import { LONG_WINDOW, type Sandbox, writeConfig } from "../../rig/opencode/sandbox.ts";
import { type OpenCode, startOpenCode } from "../../rig/opencode/start-opencode.ts";
import { waitFor } from "../../rig/wait-for.ts";
import {
  type ChildOfSession,
  type HostOptions,
  type HostRig,
  type HostToolCalls,
  openStage,
  type RigOptions,
  type TurnPrompt,
} from "./host-rig.ts";
import type { LoadedPlugins } from "./plugin-specs.ts";

export type { RigOptions } from "./host-rig.ts";

/** Starts the scripted model and the real OpenCode 1 in a sandbox, with our plugin loaded if the options ask for it. */
export async function createRig(options: RigOptions = {}): Promise<OpenRig> {
  const stage = await openStage(options);
  const { model, sandbox } = stage;
  const events: HostEvent[] = [];
  const running = new Set<OpenCode>();
  const logs = new Map<OpenCode, EventLog>();
  let settings: HostOptions & LoadedPlugins = options;
  let main: OpenCode | undefined;

  const start = async (): Promise<OpenCode> => {
    const opencode = await startOpenCode({ sandbox, ...stage.configuration(settings) });
    running.add(opencode);
    const log = await collectEvents({ url: opencode.url, directory: sandbox.project, into: events });
    logs.set(opencode, log);
    return opencode;
  };
  const end = async (opencode: OpenCode): Promise<void> => {
    running.delete(opencode);
    await logs.get(opencode)?.stop();
    await opencode.kill();
  };
  const current = (): OpenCode => {
    if (main === undefined) throw new Error("OpenCode is not running: it was killed and not started again");
    return main;
  };
  const stop = async (): Promise<void> => {
    await Promise.all([...running].map(end));
    await stage.close();
  };
  try {
    if (options.start !== "later") main = await start();
  } catch (cause) {
    await stop();
    throw cause;
  }

  const waitUntilIdle = (sessionId: string): Promise<void> => current().waitUntilIdle(sessionId, 60_000);
  return {
    ...stage,
    host: "opencode",
    tools: OPENCODE_TOOLS,
    events,
    get opencode() {
      return current();
    },
    running: () => [...running],
    newSession: (title = "A session") => current().createSession(title),
    async turn(sessionId, prompt, steps = []) {
      model.script(steps.map((step) => ({ sessionId, ...step })));
      await current().prompt(sessionId, promptOf(prompt));
      await waitUntilIdle(sessionId);
    },
    promptInBackground: (sessionId, prompt) => current().promptInBackground(sessionId, promptOf(prompt)),
    waitUntilIdle,
    isBusy: (sessionId) => current().isBusy(sessionId),
    interrupt: (sessionId) => current().abort(sessionId),
    async undo(sessionId) {
      const messages = await current().messages(sessionId);
      const messageID = messages.findLast(({ info }) => info.role === "user")?.info.id;
      await current().call("POST", `/session/${sessionId}/revert`, { messageID });
    },
    async redo(sessionId) {
      await current().call("POST", `/session/${sessionId}/unrevert`, {});
    },
    async compact(sessionId, chosen = LONG_WINDOW) {
      await current().summarize(sessionId, chosen);
      await waitUntilIdle(sessionId);
    },
    transcript: (sessionId) => readTranscript(current(), sessionId),
    children: async (sessionId) =>
      (await current().call("GET", `/session/${sessionId}/children`)) as readonly ChildOfSession[],
    waitFor,
    async kill9() {
      const opencode = current();
      main = undefined;
      await end(opencode);
    },
    async restart(changes = {}) {
      if (main !== undefined) await end(main);
      settings = { ...settings, ...changes };
      main = await start();
    },
    another: start,
    async run(...args) {
      writeConfig(sandbox, stage.configuration(settings));
      return runOpenCode({ binary: await installOpenCode(), args: ["run", ...args], sandbox });
    },
    importSessions: async (sessions) =>
      importSessions({ binary: await installOpenCode(), sandbox, sessions }),
    log: () => logOf(sandbox),
    notices: () =>
      events
        .filter(({ type }) => type === "tui.toast.show")
        .map(({ properties }) => String(properties.message)),
    dump: () => storedSessions([...running][0]),
    stop,
  };
}

/** OpenCode 1 for a scenario, with what only it has. */
export interface Rig extends HostRig {
  /** The instance that runs now; after `restart` it is another one. */
  readonly opencode: OpenCode;
  running(): readonly OpenCode[];
  turn(sessionId: string, prompt: string | Prompt, steps?: readonly Step[]): Promise<void>;
  /** Starts one more instance on the same project and data. */
  another(): Promise<OpenCode>;
  /** `opencode run` without a server, to its end. */
  run(...args: readonly string[]): Promise<CommandResult>;
  /** Puts whole sessions into the database, many in one go; gives their ids. */
  importSessions(sessions: readonly SessionExport[]): Promise<readonly string[]>;
}

/** Whether a rig has what only OpenCode 1 has. */
export function isOpenCode1(rig: HostRig): rig is Rig {
  return rig.host === "opencode";
}

export interface OpenRig extends Rig {
  stop(): Promise<void>;
}

/** What one instance of OpenCode has stored of a session. */
export async function readTranscript(
  opencode: Pick<OpenCode, "messages">,
  sessionId: string,
): Promise<Transcript> {
  return opencodeFormat.decode((await opencode.messages(sessionId)) as SessionExport["messages"]);
}

const OPENCODE_TOOLS: HostToolCalls = {
  run: (command, id) => ({ tool: "bash", input: { command, description: "Run" }, ...(id && { id }) }),
  read: (filePath, id) => ({ tool: "read", input: { filePath }, ...(id && { id }) }),
  delegate: (prompt, id) => ({
    tool: "task",
    input: { prompt, description: "Delegate", subagent_type: "general" },
    ...(id && { id }),
  }),
  edit: (filePath, oldString, newString) => ({ tool: "edit", input: { filePath, oldString, newString } }),
  write: (filePath, content, id) => ({ tool: "write", input: { filePath, content }, ...(id && { id }) }),
};

function promptOf(prompt: string | Prompt | TurnPrompt): Prompt {
  return typeof prompt === "string" ? { text: prompt } : prompt;
}

function logOf({ home }: Sandbox): string {
  const folder = join(home, ".local", "share", "opencode", "log");
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}

async function storedSessions(opencode: OpenCode | undefined): Promise<Readonly<Record<string, unknown>>> {
  if (opencode === undefined) return {};
  const sessions = (await opencode.call("GET", "/session")) as readonly { readonly id: string }[];
  const stored = sessions.map(
    async ({ id }): Promise<[string, unknown]> => [
      id,
      await opencode.messages(id).catch((error: unknown) => String(error)),
    ],
  );
  return Object.fromEntries(await Promise.all(stored));
}
