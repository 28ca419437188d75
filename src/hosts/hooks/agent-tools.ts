import { createPluginContext } from "../../plugin/context/context.ts";
import { createForkLinks } from "../../plugin/forks/child.ts";
import type { AgentHost, RunningTool } from "../../plugin/host/agent-host.ts";
import { createViewCapture } from "../../plugin/stores/views.ts";
import { createRecallTool } from "../../plugin/tools/tools.ts";
import { asString } from "../../text/json.ts";
import { createFileHost, withAgentsFiles } from "./file-host.ts";
import type { AgentPlace, HookAgent } from "./hook-agent.ts";
import { readHookOptions } from "./hook-options.ts";
import type { McpServer } from "./serve-mcp.ts";

/**
 * The tools of ours in an agent of hooks. `recall` finds what we bounded, what the agent keeps in files of its own, and what
 * a compaction took out of the window, which is still in the session's file.
 */
export async function createAgentTools(agent: HookAgent, setup: AgentToolsSetup): Promise<McpServer> {
  const { env, directory, log, version } = setup;
  const { options, problem } = await readHookOptions(env);
  if (problem !== undefined) log("error", problem);
  const host = createFileHost(agent, setup);
  const capture = createViewCapture();
  let callingFile: string | undefined;
  const base = createPluginContext({ host, options, env });
  const outputFolder = async (): Promise<string | undefined> =>
    callingFile === undefined ? undefined : agent.outputFolder?.(callingFile);
  const context = { ...base, spills: withAgentsFiles(base.spills, outputFolder) };
  const recall = createRecallTool({
    context,
    forks: { capture, links: createForkLinks(host), views: base.stores.views },
  });
  return {
    name: "carryover",
    version,
    tools: { recall },
    async running(meta, signal): Promise<RunningTool> {
      const sessionId = (await agent.callingSession({ meta }, { directory, env })) ?? "unknown";
      callingFile = await agent.findSession(sessionId, { directory, env });
      const stored = await host.sessions.read(sessionId);
      const lines = stored.status === "ok" ? stored.value.messages : [];
      // What the model sees now is not out of its sight.
      capture.see({ sessionId, messages: agent.windowOf(lines) as typeof lines }, context.now());
      return {
        sessionId,
        callId: asString(meta.callId) ?? asString(meta["claudecode/toolUseId"]) ?? "",
        agent: agent.name,
        signal,
        mayStart: async () => ({ status: "refused", reason: "this agent starts no sub-agents for us" }),
        setTitle: () => {},
      };
    },
  };
}

interface AgentToolsSetup extends AgentPlace {
  readonly log: AgentHost["log"];
  readonly version: string;
}
