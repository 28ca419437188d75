import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readCommandLine, type StartWords } from "../../agents/files/command-line.ts";
import type { HookAgent } from "../../agents/hooks/hook-agent.ts";
import { type AgentPlace, sessionsFolder } from "../../agents/places.ts";
import { codex as format } from "../../formats/files/codex/codex.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import { codexChild, codexOptions } from "./child.ts";
import { codexWords } from "./tool-output.ts";

/** Codex, as measured on 0.166.0. */
export const codex: HookAgent = {
  ...codexWords,
  format,
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
  turnEnds,
  isAttended: (_env, started) => !isHeadless(started),
  child: codexChild,
};

/** The last answer before each end of a turn. */
function turnEnds(lines: readonly unknown[]): ReadonlySet<string> {
  const ends = new Set<string>();
  let last: string | undefined;
  for (const line of lines) {
    const { type, payload } = asObject(line);
    const item = asObject(payload);
    if (type === "response_item" && item.type === "message" && item.role === "assistant")
      last = asString(item.id);
    else if (type === "event_msg" && item.type === "task_started") last = undefined;
    else if (type === "event_msg" && item.type === "task_complete" && last !== undefined) ends.add(last);
  }
  return ends;
}

/** Whether it was started by the command that ends with its turn. */
function isHeadless(started: StartWords | undefined): boolean {
  const { operands = [] } = readCommandLine(started?.words ?? [], codexOptions) ?? {};
  return operands.some((word) => word === "exec" || word === "e");
}

/** Rollouts lie in folders by day, and their names begin with the time: without an id the newest is found. */
async function findSession(sessionId: string | undefined, { env }: AgentPlace): Promise<string | undefined> {
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
  return look(sessionsFolder("codex", env), 3);
}
