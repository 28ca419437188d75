import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../plugin/context/context.ts";

/** Where an agent keeps its settings and sessions: the folder that its own variable names, or the usual one. */
export function agentHome(agent: FileKeeper, env: Environment): string {
  const home = env.HOME || homedir();
  switch (agent) {
    case "claude-code":
      return env.CLAUDE_CONFIG_DIR || join(home, ".claude");
    case "codex":
      return env.CODEX_HOME || join(home, ".codex");
    case "pi":
      return env.PI_CODING_AGENT_DIR || join(home, ".pi", "agent");
  }
}

/** An agent whose sessions are files. */
type FileKeeper = "claude-code" | "codex" | "pi";

/** Where an agent keeps its sessions, a file each, in folders by project or by day. */
export function sessionsFolder(agent: FileKeeper, env: Environment): string {
  return join(agentHome(agent, env), agent === "claude-code" ? "projects" : "sessions");
}

/** The folder beside a session file of Claude Code: sub-agents, and outputs that were too long for a message. */
export function folderBeside(sessionFile: string): string {
  return sessionFile.replace(/\.jsonl(?:\.gz|\.zst)?$/, "");
}

/** Where an agent runs. */
export interface AgentPlace {
  readonly directory: string;
  readonly env: Environment;
}
