import { join } from "node:path";
import { agentHome } from "../../hosts/host-files.ts";

/** A folder in which a coding agent keeps its sessions, a file each. */
export interface SessionFolder {
  readonly agent: string;
  readonly folder: string;
  /** The id that the name of a file carries; undefined for a file that is no session. */
  idOf(name: string): string | undefined;
  /** False for files that belong to another session, such as those of its sub-agents. */
  isMain(name: string): boolean;
}

/** Where Claude Code, Codex and pi keep their sessions. OpenCode has a database. */
export function sessionFolders(env: NodeJS.ProcessEnv): readonly SessionFolder[] {
  return [
    {
      agent: "Claude Code",
      folder: join(agentHome("claude-code", env), "projects"),
      idOf: idIn(/^(.+)$/),
      isMain: (name) => !name.startsWith("agent-"),
    },
    {
      agent: "Codex",
      folder: join(agentHome("codex", env), "sessions"),
      idOf: idIn(/^rollout-[\dT-]{19}-(.+)$/),
      isMain: () => true,
    },
    {
      agent: "pi",
      folder: join(agentHome("pi", env), "sessions"),
      idOf: idIn(/^[^_]+_(.+)$/),
      isMain: () => true,
    },
  ];
}

function idIn(pattern: RegExp): SessionFolder["idOf"] {
  return (name) => {
    const [, stem] = /^(.+)\.jsonl(?:\.gz|\.zst)?$/.exec(name) ?? [];
    return stem === undefined ? undefined : (pattern.exec(stem)?.[1] ?? stem);
  };
}
