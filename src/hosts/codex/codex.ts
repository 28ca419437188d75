import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { codex as format } from "../../formats/files/codex/codex.ts";
import { asObject, asString } from "../../text/json.ts";
import type { AgentPlace, HookAgent } from "../hooks/hook-agent.ts";
import { readOutput } from "./tool-output.ts";

/** Codex, as measured on 0.166.0. It takes no text for its request for a summary. */
export const codex: HookAgent = {
  name: "codex",
  format,
  readOutput,
  addContext: (hookEventName, additionalContext) =>
    JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } }),
  // The hook asks for room by `additionalContextLimit`, in tokens.
  context: { maxChars: 28_000, hooks: 1 },
  addedByAgent:
    /^\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|turn_aborted|skill|user_shell_command|subagent_notification|recommended_plugins)\b)/,
  windowOf(lines) {
    const compacted = lines.findLastIndex((line) => asObject(line).type === "compacted");
    return compacted === -1 ? lines : lines.slice(compacted);
  },
  findSession,
  async callingSession({ meta }) {
    const turn = asObject(meta["x-codex-turn-metadata"]);
    return asString(turn.session_id) ?? asString(meta.sessionId) ?? asString(meta.threadId);
  },
};

/** Rollouts lie in folders by day, and their names begin with the time: without an id the newest is found. */
async function findSession(sessionId: string | undefined, { env }: AgentPlace): Promise<string | undefined> {
  const root = join(env.CODEX_HOME || join(env.HOME || homedir(), ".codex"), "sessions");
  const end = sessionId === undefined ? ".jsonl" : `-${sessionId}.jsonl`;
  const look = async (folder: string, depth: number): Promise<string | undefined> => {
    const names = (await readdir(folder).catch(() => [])).sort().reverse();
    if (depth === 0) {
      const found = names.find((name) => name.endsWith(end));
      return found && join(folder, found);
    }
    for (const name of names) {
      const found = await look(join(folder, name), depth - 1);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return look(root, 3);
}
