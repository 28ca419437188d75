import { join } from "node:path";
import type { AgentHost, HostAgent, HostTools } from "../../plugin/host/agent-host.ts";
import { createPlugin } from "../../plugin/plugin.ts";
import { configHome } from "../../plugin/stores/folders.ts";
import { asObject, asString, type UnknownObject } from "../../text/json.ts";
import { createHooks } from "./adapter.ts";
import type { Hooks, PluginInput } from "./hooks.ts";
import { messageFormat } from "./messages.ts";
import { createHostCalls, createSessions, failureOf, type HostCalls } from "./sessions.ts";

/**
 * The plugin as OpenCode 1 loads it. OpenCode's sessions, messages and events are given in
 * the plugin's terms by `sessions.ts`, `messages.ts` and `signals.ts`, and `adapter.ts` turns its hooks into moments of the
 * plugin; nothing is decided here.
 */
export async function createServer({ client, directory }: PluginInput, options?: unknown): Promise<Hooks> {
  const calls = createHostCalls({ client, directory });
  if (calls === undefined) return {};
  const { env, argv } = process;
  const host = createOpencodeHost({ calls, directory, env, args: argv.slice(2) });
  const plugin = createPlugin(host, options, { env });
  return createHooks(plugin, (hook, cause) =>
    host.log("error", `${hook} failed and changed nothing`, { cause: String(cause) }),
  );
}

/** OpenCode 1 as the plugin's host, over the routes of its server. */
export function createOpencodeHost({ calls, directory, env, args = [] }: OpencodeHostSetup): AgentHost {
  return {
    directory,
    project: directory,
    attendance: args[0] === "run" ? "headless" : "attended",
    packageFolders: [directory, join(configHome(env), "opencode")],
    can: { carryResults: true, rejectAsks: true },
    format: messageFormat,
    sessions: createSessions(calls),
    tools: opencodeTools,
    async agents() {
      const answer = await calls.call("GET", "/agent");
      if (answer.status === "failed") return failureOf(answer);
      return {
        status: "ok",
        value: Array.isArray(answer.body) ? answer.body.map(asObject).map(readAgent) : [],
      };
    },
    toast(message, variant) {
      void calls.call("POST", "/tui/show-toast", { title: "Carryover", message, variant });
    },
    log(level, message, extra) {
      void calls.call("POST", "/log", { service: "carryover", level, message, ...(extra && { extra }) });
    },
  };
}

export interface OpencodeHostSetup {
  readonly calls: HostCalls;
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The arguments of the program: `run` is without a person. */
  readonly args?: readonly string[];
}

function readAgent({ name, hidden, model }: UnknownObject): HostAgent {
  const { providerID, modelID } = asObject(model);
  const providerId = asString(providerID);
  const modelId = asString(modelID);
  return {
    name: String(name),
    isHidden: hidden === true,
    ...(providerId !== undefined && modelId !== undefined && { model: { providerId, modelId } }),
  };
}

/** What OpenCode's tools mean. */
export const opencodeTools: HostTools = {
  kindOf: (tool) => (tool === "task" ? "subagent" : tool === "question" ? "question" : undefined),
  writtenFiles(tool, input) {
    const { filePath, path, patchText } = asObject(input);
    if (WRITING_TOOLS.has(tool)) {
      const file = asString(filePath) ?? asString(path);
      return file === undefined ? [] : [file];
    }
    if (tool !== "apply_patch" && tool !== "patch") return [];
    return [...(asString(patchText) ?? "").matchAll(PATCHED_FILE)].map((match) => (match[1] ?? "").trim());
  },
};

const WRITING_TOOLS: ReadonlySet<string> = new Set(["write", "edit", "multiedit"]);

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;
