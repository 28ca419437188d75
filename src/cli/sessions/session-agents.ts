import { sessionsFolder } from "../../agents/places.ts";
import { SESSION_FORMATS, type SessionFormatName } from "../../formats/registry.ts";
import type { Environment } from "../../plugin/context/context.ts";

/** An agent as people name it on the command line; which version of OpenCode is meant is found out. */
export type Agent = "claude-code" | "codex" | "opencode" | "pi";

/** What this program can do with the sessions of an agent. `SESSION_FORMATS` has what is known of their contents. */
interface SessionAgent {
  /** The agent that can go on with one; unset where a session is only read. */
  readonly goesOnIn?: Agent;
  /** Where they are kept, a file each; unset where this program does not look for them, or finds them in a database. */
  readonly files?: SessionFiles;
}

interface SessionFiles {
  readonly folder: (env: Environment) => string;
  /** What of the name of a file without its ending is the id of the session. */
  readonly id: RegExp;
  /** False for files that belong to another session, such as those of its sub-agents. */
  readonly isMain?: (name: string) => boolean;
}

/** A record of each session format. */
const SESSION_AGENTS: Readonly<Record<SessionFormatName, SessionAgent>> = {
  opencode: { goesOnIn: "opencode" },
  opencode2: { goesOnIn: "opencode" },
  "claude-code": {
    goesOnIn: "claude-code",
    files: {
      folder: (env) => sessionsFolder("claude-code", env),
      id: /^(.+)$/s,
      isMain: (name) => !name.startsWith("agent-"),
    },
  },
  codex: {
    goesOnIn: "codex",
    files: { folder: (env) => sessionsFolder("codex", env), id: /^rollout-[\dT-]{19}-(.+)$/s },
  },
  pi: { goesOnIn: "pi", files: { folder: (env) => sessionsFolder("pi", env), id: /^[^_]+_(.+)$/s } },
  "swe-agent": {},
  "gemini-cli": {},
};

/** The agents that can go on with a session. */
export const AGENTS: readonly Agent[] = [
  ...new Set(Object.values(SESSION_AGENTS).flatMap(({ goesOnIn }) => goesOnIn ?? [])),
].sort();

/** The agent that can go on with a session in this format. */
export function agentOf(format: string): Agent | undefined {
  return Object.hasOwn(SESSION_AGENTS, format)
    ? SESSION_AGENTS[format as SessionFormatName].goesOnIn
    : undefined;
}

/** A folder in which a coding agent keeps its sessions, a file each. */
export interface SessionFolder {
  /** As people call it. */
  readonly agent: string;
  readonly folder: string;
  /** The id that the name of a file carries; undefined for a file that is no session. */
  idOf(name: string): string | undefined;
  isMain(name: string): boolean;
}

/** Where agents keep sessions in files. OpenCode has a database. */
export function sessionFolders(env: Environment): readonly SessionFolder[] {
  return (Object.keys(SESSION_AGENTS) as SessionFormatName[]).flatMap((format) => {
    const { files } = SESSION_AGENTS[format];
    if (files === undefined) return [];
    const { folder, id, isMain = () => true } = files;
    const idOf = (name: string): string | undefined => {
      const [, stem] = /^(.+)\.jsonl(?:\.gz|\.zst)?$/s.exec(name) ?? [];
      return stem === undefined ? undefined : (id.exec(stem)?.[1] ?? stem);
    };
    return [{ agent: SESSION_FORMATS[format].agent, folder: folder(env), idOf, isMain }];
  });
}

/** The agents whose sessions are looked for, as people call them: "OpenCode, Claude Code, Codex or pi". */
export function agentNames(): string {
  const names = ["OpenCode", ...sessionFolders({}).map(({ agent }) => agent)];
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
