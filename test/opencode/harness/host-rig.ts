import { join } from "node:path";
import type { Transcript } from "../../../src/transcript/message.ts";
import { rigFolder } from "../../rig/install-program.ts";
import {
  type ModelRequest,
  type ModelServer,
  type ModelServerOptions,
  startModelServer,
} from "../../rig/model-server/model-server.ts";
import type { ScriptedCall, Step } from "../../rig/model-server/step.ts";
import { type NetworkTrap, startNetworkTrap } from "../../rig/opencode/network-trap.ts";
import type { HostEvent, Prompt } from "../../rig/opencode/opencode-client.ts";
import { createSandbox, type ModelChoice, type Sandbox } from "../../rig/opencode/sandbox.ts";
import type { Condition, Wait } from "../../rig/wait-for.ts";
import { type LoadedPlugins, type PluginChoice, pluginSpecs, writeProbes } from "./plugin-specs.ts";

/** Everything a scenario plays with, whichever coding agent it plays in. */
export interface HostRig {
  readonly host: HostName;
  readonly model: ModelServer;
  readonly sandbox: Sandbox;
  readonly trap: NetworkTrap;
  /** The calls of the agent's own tools, by what they do. */
  readonly tools: HostToolCalls;
  /** What the agent published so far, oldest first, restarts included. */
  readonly events: readonly HostEvent[];
  /** The requests so far that fit, oldest first. */
  requests(wanted?: WantedRequests): readonly ModelRequest[];
  /** Gives the id of a new session. */
  newSession(title?: string): Promise<string>;
  /** Plays one turn: the steps answer this session unless they say otherwise; returns when it is idle. */
  turn(sessionId: string, prompt: string | TurnPrompt, steps?: readonly Step[]): Promise<void>;
  /** Sends a message of the user and returns at once. */
  promptInBackground(sessionId: string, prompt: string | TurnPrompt): Promise<void>;
  waitUntilIdle(sessionId: string): Promise<void>;
  isBusy(sessionId: string): Promise<boolean>;
  /** What a person does who presses escape. */
  interrupt(sessionId: string): Promise<void>;
  /** What `/undo` does: takes back the newest message of the user that stands, and all that followed. */
  undo(sessionId: string): Promise<void>;
  /** What `/redo` does after it. */
  redo(sessionId: string): Promise<void>;
  /** What `/compact` does; returns when the summary stands. */
  compact(sessionId: string, model?: ModelChoice): Promise<void>;
  /** Everything that is stored of a session. */
  transcript(sessionId: string): Promise<Transcript>;
  /** The sessions that were started from a session. */
  children(sessionId: string): Promise<readonly ChildOfSession[]>;
  waitFor<T>(condition: Condition<T>, wait: string | Wait): Promise<T>;
  /** Ends the agent as a power cut would, with everything it started. */
  kill9(): Promise<void>;
  /** Starts the agent again on the same data, killing it first if it still runs. */
  restart(changes?: Pick<HostOptions, "config"> & PluginChoice): Promise<void>;
  /** The log to which the plugin writes. */
  log(): string;
  /** What people were told in passing: toasts, or what stands for them where only a terminal has them. */
  notices(): readonly string[];
  /** What the sessions hold, for the report of a failure. */
  dump(): Promise<Readonly<Record<string, unknown>>>;
}

export type HostName = "opencode" | "opencode2";

export interface OpenHostRig extends HostRig {
  stop(): Promise<void>;
}

/** What every agent takes as a prompt. */
export type TurnPrompt = Pick<Prompt, "text" | "model" | "agent">;

export interface ChildOfSession {
  readonly id: string;
  readonly title: string;
}

/** A call of a tool that every coding agent has under some name. */
export interface HostToolCalls {
  run(command: string, id?: string): ScriptedCall;
  read(path: string, id?: string): ScriptedCall;
  write(path: string, content: string, id?: string): ScriptedCall;
  edit(path: string, before: string, after: string): ScriptedCall;
  /** Starts a sub-agent of the agent's own. */
  delegate(prompt: string, id?: string): ScriptedCall;
}

export type RigOptions = HostOptions & PluginChoice;

export interface HostOptions {
  /** Top-level configuration keys of OpenCode that replace ours; version 2 reads those of version 1. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Files of the project by path; committed before the agent starts. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Small plugins by name, as the source of a module; loaded before all others. */
  readonly probes?: Readonly<Record<string, string>>;
  /** Unset means at once; later means with the first `restart`. */
  readonly start?: "later";
}

/** Which requests are wanted; what is unset does not matter, but `lane` is `main` unless it is said. */
export interface WantedRequests {
  readonly sessionId?: string;
  readonly parentSessionId?: string;
  readonly lane?: ModelRequest["lane"] | "any";
  readonly wire?: ModelRequest["wire"];
}

/** What stands around the agent, whichever it is: a scripted model, a trap for the network, a home with a project. */
export async function openStage(options: RigOptions, server: ModelServerOptions = {}): Promise<Stage> {
  const model = await startModelServer(server);
  const trap = await startNetworkTrap();
  const sandbox = createSandbox({
    files: options.files ?? {},
    pathFolders: [join(rigFolder(), "bin")],
    env: { ...trap.env, ...options.env },
  });
  const probes = writeProbes(join(sandbox.root, "probes"), options.probes ?? {});
  return {
    model,
    trap,
    sandbox,
    requests: (wanted = {}) => model.requests.filter((request) => isWanted(request, wanted)),
    configuration: (settings) => ({
      modelUrl: model.url,
      config: { ...settings.config, plugin: [...probes, ...pluginSpecs(settings)] },
    }),
    async close() {
      await model.stop();
      await trap.stop();
      sandbox.remove();
    },
  };
}

export interface Stage extends Pick<HostRig, "model" | "trap" | "sandbox" | "requests"> {
  /** With which configuration the agent starts. */
  configuration(settings: HostOptions & LoadedPlugins): {
    readonly modelUrl: string;
    readonly config: Readonly<Record<string, unknown>>;
  };
  close(): Promise<void>;
}

function isWanted(request: ModelRequest, { lane = "main", ...wanted }: WantedRequests): boolean {
  if (lane !== "any" && request.lane !== lane) return false;
  return Object.entries(wanted).every(([field, value]) => request[field as keyof typeof wanted] === value);
}
