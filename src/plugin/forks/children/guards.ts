import { resolve } from "node:path";
import { forbiddenText, notAllowedText } from "../../../fork/life/child-rules.ts";
import { currentRun, forkName, isLive } from "../../../fork/life/record.ts";
import { createLruMap } from "../../../text/lru-map.ts";
import type { Feature } from "../../context/context.ts";
import type { ToolCall } from "../../host/agent-host.ts";
import type { ForkSetup } from "../forks.ts";

/**
 * Refuses tool calls: to children what they must not do (their tools stay declared, since another tool list would lose the
 * provider's cached prefix), and to anybody, once, a file that a running fork is editing.
 */
export function createChildGuards({ context, forks }: ForkSetup): Feature {
  const { directory, tools, sessions } = context.host;
  const writers = createLruMap<string, string>(MAX_FILES);
  const warned = createLruMap<string, true>(MAX_FILES);

  function fileWarning({ sessionId, tool, input }: ToolCall): string | undefined {
    for (const file of tools.writtenFiles(tool, input)) {
      const path = resolve(directory, file);
      const writer = writers.get(path);
      const other = writer === undefined || writer === sessionId ? undefined : forks.keeper.ofChild(writer);
      const warning = `${sessionId} ${writer} ${path}`;
      if (other !== undefined && isLive(currentRun(other)) && !warned.get(warning)) {
        warned.set(warning, true);
        return `${forkName(other)} is editing ${file} and still runs. Nothing was written. Read the file again, then either leave it to that fork or call again: the next call goes through.`;
      }
      if (forks.keeper.ofChild(sessionId) !== undefined) writers.set(path, sessionId);
    }
    return undefined;
  }

  return {
    name: "fork guards",
    holdsForks: true,
    async beforeTool(call) {
      if ((await forks.forkLinkOf(call.sessionId)) !== undefined) {
        const act = tools.forbiddenToForks.get(call.tool);
        if (act !== undefined) return forbiddenText(act);
        const forbidden = await sessions.isForbidden(call);
        if (forbidden.status === "failed") return `Not done: the host did not say whether you may.`;
        if (forbidden.value) return notAllowedText(call.tool);
      }
      return fileWarning(call);
    },
  };
}

/** Enough for all that forks write while they run; only those that run are warned of. */
const MAX_FILES = 4_096;
