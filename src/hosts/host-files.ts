import { constants } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { AgentHost, WholeOutput } from "../plugin/host/agent-host.ts";
import { safeJson } from "../text/json.ts";
import { asString } from "../text/unknown-value.ts";

/** The whole of a command's output from the host's file, with what the host says behind its own notice of the cut. */
export async function wholeFromFile(path: string, shown: string, noticeEnd: number): Promise<WholeOutput> {
  const text = await readHostFile(path);
  return text === undefined ? { text: shown } : { text: text.trimEnd() + shown.slice(noticeEnd), path };
}

/** A file that the host wrote; undefined for anything else, and for one that would take long to read. */
export async function readHostFile(path: string): Promise<string | undefined> {
  // Loaded when it is needed: a hook is a process of its own, and most of them read no such file.
  const { open } = await import("node:fs/promises");
  const file = await open(path, READ_FLAGS).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size <= MAX_WHOLE_BYTES ? await file.readFile("utf8") : undefined;
  } finally {
    await file.close();
  }
}

// Neither a link nor a pipe; Windows has no such flags.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 }: Partial<typeof constants> = constants;
const READ_FLAGS = constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** A longer file stays as OpenCode cut it: reading it would hold up the agent. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** The files that a patch names. */
export function patchedFiles(patchText: unknown): readonly string[] {
  return [...(asString(patchText) ?? "").matchAll(PATCHED_FILE)].map((match) => (match[1] ?? "").trim());
}

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;

/** A log of our own, for agents that have none for plugins, or in which what is printed would stand in the middle of the screen. */
export function createLogFile(file: string, now: () => number = Date.now): AgentHost["log"] {
  let last: Promise<void> = Promise.resolve();
  async function write(line: string): Promise<void> {
    // Most processes that have a log write nothing to it.
    const { appendFile, mkdir, rename, stat } = await import("node:fs/promises");
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const { size } = await stat(file).catch(() => ({ size: 0 }));
    if (size > MAX_BYTES) await rename(file, `${file}.old`);
    await appendFile(file, line, { mode: 0o600 });
  }
  return (level, message, extra) => {
    const line = `${new Date(now()).toISOString()} ${level} ${message}${extra ? ` ${safeJson(extra)}` : ""}\n`;
    // One after the other; a disk that is full must not disturb anybody.
    last = last.then(() => write(line)).catch(() => {});
  };
}

const MAX_BYTES = 1_000_000;

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

type Environment = Readonly<Record<string, string | undefined>>;

/** Where an agent keeps its sessions, a file each, in folders by project or by day. */
export function sessionsFolder(agent: FileKeeper, env: Environment): string {
  return join(agentHome(agent, env), agent === "claude-code" ? "projects" : "sessions");
}

/** The folder beside a session file of Claude Code: sub-agents, and outputs that were too long for a message. */
export function folderBeside(sessionFile: string): string {
  return sessionFile.replace(/\.jsonl(?:\.gz|\.zst)?$/, "");
}
