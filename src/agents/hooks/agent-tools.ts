import { readFile, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { currentRun, isLive } from "../../fork/life/record.ts";
import { combineFeatures } from "../../plugin/combine-features.ts";
import { createPluginContext } from "../../plugin/context/context.ts";
import { createDeliveryFeature } from "../../plugin/delivery/fork-results.ts";
import { createForkAdoption } from "../../plugin/forks/adopt-forks.ts";
import { createChildEventsFeature } from "../../plugin/forks/children/events.ts";
import { createChildGuards } from "../../plugin/forks/children/guards.ts";
import { createForkClockFeature } from "../../plugin/forks/clock.ts";
import { createForks, type ForkSetup } from "../../plugin/forks/forks.ts";
import type { AgentHost, AgentPlugin, ModelTool, RunningTool } from "../../plugin/host/agent-host.ts";
import type { ModelFacts, StartAnswer } from "../../plugin/host/host-parts.ts";
import { createForkTools } from "../../plugin/tools/fork-tools.ts";
import { createRecallTool } from "../../plugin/tools/recall-tool.ts";
import { asString } from "../../text/unknown-value.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import type { Transcript } from "../../transcript/message.ts";
import { CHILD_VARIABLE } from "../files/child-process.ts";
import { createFileHost, type FileHost } from "../files/file-host.ts";
import { startWords } from "../files/parent-process.ts";
import { takeMode } from "../files/process-notes.ts";
import { readHookOptions } from "../options-file.ts";
import type { AgentPlace } from "../places.ts";
import type { HookAgent } from "./hook-agent.ts";
import type { McpServer } from "./serve-mcp.ts";

/**
 * The tools of ours in an agent of hooks. `recall` finds what we trimmed, what the agent keeps in files of its own, and
 * what a compaction took out of the window, which is still in the session's file. `fork` starts a child in the agent's
 * own program and may do so within what the session that calls it may do; a child has only `recall`.
 */
export async function createAgentTools(agent: HookAgent, setup: AgentToolsSetup): Promise<AgentTools> {
  const { env, directory, log, version } = setup;
  const { options, problem } = await readHookOptions(env);
  if (problem !== undefined) log("error", problem);
  const started = startWords(agent);
  const attendance = agent.isAttended(env, started) ? "attended" : "headless";
  const host = createFileHost(agent, { ...setup, attendance });
  let callingFile: string | undefined;
  const base = createPluginContext({ host, options, env });
  const outputFolder = async (): Promise<string | undefined> =>
    callingFile === undefined ? undefined : agent.outputFolder?.(callingFile);
  const context = { ...base, outputs: withAgentsFiles(base.outputs, outputFolder) };
  const forks = createForks(context);
  const parts = { context, forks };
  const recall = createRecallTool(parts);
  const isChild = (env[CHILD_VARIABLE] ?? "") !== "";
  const runs = isChild || problem !== undefined ? undefined : runForks(host, parts);

  /** Whether the call may start a child, and from now on what that may do. */
  async function mayStart(sessionId: string, mode: string | undefined): Promise<StartAnswer> {
    const stored = await host.sessions.read(sessionId);
    const lines = stored.status === "ok" ? stored.value.messages : [];
    const rights = agent.child.rightsOf({ lines, startedWith: started, mode });
    if (typeof rights === "string") return { status: "refused", reason: rights };
    host.childProcesses.setRights(sessionId, rights);
    return { status: "allowed" };
  }

  return {
    name: "carryover",
    version,
    tools: { recall, ...runs?.tools },
    readOnly: ["recall", "fork_result"],
    async running(meta, signal): Promise<RunningTool> {
      const sessionId = (await agent.callingSession({ meta }, { directory, env })) ?? "unknown";
      const callId = asString(meta.callId) ?? asString(meta["claudecode/toolUseId"]) ?? "";
      // Also for a call that starts nothing: the note is for this one alone.
      const mode = takeMode(env, callId);
      callingFile = await agent.findSession(sessionId, { directory, env });
      const stored = await host.sessions.read(sessionId);
      const lines = stored.status === "ok" ? stored.value.messages : [];
      // What the model sees now is not out of its sight.
      forks.capture.see({ sessionId, messages: agent.windowOf(lines) as typeof lines }, context.now());
      await runs?.takeRoot(sessionId);
      return {
        sessionId,
        callId,
        agent: agent.name,
        signal,
        model: modelOf(agent, host.format.decode(lines)),
        mayStart: () => mayStart(sessionId, mode),
        setTitle: () => {},
      };
    },
    async settled() {
      while (forks.keeper.all().some((record) => isLive(currentRun(record)))) await sleep(SETTLE_LOOK_MS);
    },
    async dispose() {
      host.childProcesses.endAll();
      await runs?.dispose();
    },
  };
}

const SETTLE_LOOK_MS = 200;

export interface AgentTools extends McpServer {
  /** Resolves once no fork runs any more. */
  settled(): Promise<void>;
  /** Ends the children and says in their records that they were left. */
  dispose(): Promise<void>;
}

interface AgentToolsSetup extends AgentPlace {
  readonly log: AgentHost["log"];
  readonly version: string;
}

interface ForkRuns extends Pick<AgentPlugin, "dispose"> {
  readonly tools: Readonly<Record<string, ModelTool>>;
  /** Takes back the forks of a session whose results a hook has delivered since. */
  takeRoot(sessionId: string): Promise<void>;
}

/** Follows the lives of the forks that are started here, and of those that programs which are gone have left. */
function runForks(host: FileHost, setup: ForkSetup): ForkRuns {
  const plugin = combineFeatures(
    [
      createChildGuards(setup),
      createChildEventsFeature(setup),
      createForkClockFeature(setup),
      createDeliveryFeature(setup),
    ],
    ({ feature, handler, cause }) =>
      host.log("error", `${feature}: ${handler} failed`, { cause: String(cause) }),
  );
  host.childProcesses.listen(plugin);
  const adoption = createForkAdoption(setup);
  void plugin.onSignal({ type: "ready" });
  return {
    tools: createForkTools(setup),
    takeRoot: async (sessionId) => adoption.takeRoot(await setup.context.tree.rootOf(sessionId)),
    dispose: plugin.dispose,
  };
}

/** The model of the newest answer. What an agent's usual model takes is half a window at least. */
function modelOf({ name }: HookAgent, transcript: Transcript): ModelFacts {
  const { model } =
    transcript.findLast(({ role, model }) => role === "assistant" && model !== undefined) ?? {};
  return model ?? { provider: name, id: "default" };
}

/** The store, and behind it the files in which the agent itself keeps whole outputs, by name or by path. */
function withAgentsFiles(store: OutputStore, folder: () => Promise<string | undefined>): OutputStore {
  return {
    put: (content) => store.put(content),
    async get(handle) {
      const kept = await store.get(handle);
      if (typeof kept === "string") return kept;
      const [, name] = /^(?:.*[\\/]tool-results[\\/])?([\w.-]{1,80}\.(?:txt|json))$/s.exec(handle) ?? [];
      const where = name === undefined ? undefined : await folder();
      if (where === undefined || name === undefined) return kept;
      try {
        // A link would lead elsewhere.
        const path = await realpath(join(where, basename(name)));
        if (path !== join(await realpath(where), name)) return kept;
        return await readFile(path, "utf8");
      } catch {
        return kept;
      }
    },
  };
}
