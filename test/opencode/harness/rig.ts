import { join } from "node:path";
import type { SessionExport } from "../../../src/formats/wires/opencode/session-message.ts";
import {
  type ModelRequest,
  type ModelServer,
  startModelServer,
} from "../../rig/model-server/model-server.ts";
import type { Step } from "../../rig/model-server/step.ts";
import { installOpenCode, rigFolder } from "../../rig/opencode/install-opencode.ts";
import { type NetworkTrap, startNetworkTrap } from "../../rig/opencode/network-trap.ts";
import {
  collectEvents,
  type EventLog,
  type HostEvent,
  type Prompt,
} from "../../rig/opencode/opencode-client.ts";
import { importSessions } from "../../rig/opencode/recording.ts";
import { type CommandResult, runOpenCode } from "../../rig/opencode/run-opencode.ts";
import { createSandbox, type Sandbox, writeConfig } from "../../rig/opencode/sandbox.ts";
import { type OpenCode, startOpenCode } from "../../rig/opencode/start-opencode.ts";
import { type Condition, type Wait, waitFor } from "../../rig/wait-for.ts";
import { type LoadedPlugins, type PluginChoice, pluginSpecs, writeProbes } from "./plugin-specs.ts";

/** Starts the scripted model and the real OpenCode in a sandbox, with our plugin loaded if the options ask for it. */
export async function createRig(options: RigOptions = {}): Promise<OpenRig> {
  const model = await startModelServer();
  const trap = await startNetworkTrap();
  const sandbox = createSandbox({
    files: options.files ?? {},
    pathFolders: [join(rigFolder(), "bin")],
    env: { ...trap.env, ...options.env },
  });
  const events: HostEvent[] = [];
  const running = new Set<OpenCode>();
  const logs = new Map<OpenCode, EventLog>();
  let settings: HostOptions & LoadedPlugins = options;
  let main: OpenCode | undefined;

  const probes = writeProbes(join(sandbox.root, "probes"), options.probes ?? {});
  const configuration = () => ({
    modelUrl: model.url,
    config: { ...settings.config, plugin: [...probes, ...pluginSpecs(settings)] },
  });
  const start = async (): Promise<OpenCode> => {
    const opencode = await startOpenCode({ sandbox, ...configuration() });
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
    await model.stop();
    await trap.stop();
    sandbox.remove();
  };
  try {
    if (options.start !== "later") main = await start();
  } catch (cause) {
    await stop();
    throw cause;
  }

  const waitUntilIdle = (sessionId: string): Promise<void> => current().waitUntilIdle(sessionId, 60_000);
  return {
    model,
    sandbox,
    trap,
    events,
    get opencode() {
      return current();
    },
    running: () => [...running],
    requests: (wanted = {}) => model.requests.filter((request) => isWanted(request, wanted)),
    newSession: (title = "A session") => current().createSession(title),
    async turn(sessionId, prompt, steps = []) {
      model.script(steps.map((step) => ({ sessionId, ...step })));
      await current().prompt(sessionId, typeof prompt === "string" ? { text: prompt } : prompt);
      await waitUntilIdle(sessionId);
    },
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
      writeConfig(sandbox, configuration());
      return runOpenCode({ binary: await installOpenCode(), args: ["run", ...args], sandbox });
    },
    importSessions: async (sessions) =>
      importSessions({ binary: await installOpenCode(), sandbox, sessions }),
    stop,
  };
}

export type RigOptions = HostOptions & PluginChoice;

interface HostOptions {
  /** Top-level configuration keys of OpenCode that replace ours. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Files of the project by path; committed before the agent starts. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Small plugins by name, as the source of a module; loaded before all others. */
  readonly probes?: Readonly<Record<string, string>>;
  /** Unset means at once; later means with the first `restart`. */
  readonly start?: "later";
}

/** Everything a scenario plays with. */
export interface Rig {
  readonly model: ModelServer;
  readonly sandbox: Sandbox;
  readonly trap: NetworkTrap;
  /** What OpenCode published so far, oldest first, restarts and second instances included. */
  readonly events: readonly HostEvent[];
  /** The instance that runs now; after `restart` it is another one. */
  readonly opencode: OpenCode;
  running(): readonly OpenCode[];
  /** The requests so far that fit, oldest first. */
  requests(wanted?: WantedRequests): readonly ModelRequest[];
  /** Gives the id of a new session. */
  newSession(title?: string): Promise<string>;
  /** Plays one turn: the steps answer this session unless they say otherwise; returns when it is idle. */
  turn(sessionId: string, prompt: string | Prompt, steps?: readonly Step[]): Promise<void>;
  waitFor<T>(condition: Condition<T>, wait: string | Wait): Promise<T>;
  /** Ends OpenCode as a power cut would, with everything it started. */
  kill9(): Promise<void>;
  /** Starts OpenCode again on the same data, killing it first if it still runs. */
  restart(changes?: Pick<HostOptions, "config"> & PluginChoice): Promise<void>;
  /** Starts one more instance on the same project and data. */
  another(): Promise<OpenCode>;
  /** `opencode run` without a server, to its end. */
  run(...args: readonly string[]): Promise<CommandResult>;
  /** Puts whole sessions into the database, many in one go; gives their ids. */
  importSessions(sessions: readonly SessionExport[]): Promise<readonly string[]>;
}

export interface OpenRig extends Rig {
  stop(): Promise<void>;
}

/** Which requests are wanted; what is unset does not matter, but `lane` is `main` unless it is said. */
export interface WantedRequests {
  readonly sessionId?: string;
  readonly parentSessionId?: string;
  readonly lane?: ModelRequest["lane"] | "any";
  readonly wire?: ModelRequest["wire"];
}

function isWanted(request: ModelRequest, { lane = "main", ...wanted }: WantedRequests): boolean {
  if (lane !== "any" && request.lane !== lane) return false;
  return Object.entries(wanted).every(([field, value]) => request[field as keyof typeof wanted] === value);
}
