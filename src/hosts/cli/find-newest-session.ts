import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { exampleSession } from "./example-session.ts";
import { modifiedMs, newestFile } from "./newest-file.ts";
import { findStoredSession, openDatabase, readStoredSession } from "./opencode-sessions.ts";
import { type InputFile, readBytes, readInput } from "./read-input.ts";

/** A session that nobody named, and how it was found. */
export interface FoundSession {
  readonly file: InputFile;
  /** One line that says which agent's session it is, and where it is. */
  readonly found: string;
  /** Newer sessions that could not be read, and why. */
  readonly passedOver: readonly string[];
}

/** The newest session of OpenCode, Claude Code, Codex or pi on this machine; where there is none, an example. */
export async function findNewestSession(env: NodeJS.ProcessEnv): Promise<FoundSession> {
  const candidates = (await Promise.all(PLACES.map((find) => find(env)))).filter(
    (each) => each !== undefined,
  );
  const passedOver: string[] = [];
  for (const { agent, place, open } of candidates.sort((a, b) => b.modifiedMs - a.modifiedMs)) {
    try {
      const file = await open();
      return { file, found: `The newest session on this machine, of ${agent}: ${place}`, passedOver };
    } catch (error) {
      passedOver.push(`the newest session of ${agent} is passed over: ${(error as Error).message}`);
    }
  }
  const file = await readBytes(Buffer.from(JSON.stringify(exampleSession())), "the example");
  const found =
    "There is no session of OpenCode, Claude Code, Codex or pi on this machine; this is an example";
  return { file, found, passedOver };
}

interface Candidate {
  readonly agent: string;
  /** Where it is, for a person to read. */
  readonly place: string;
  readonly modifiedMs: number;
  readonly open: () => Promise<InputFile>;
}

type Find = (env: NodeJS.ProcessEnv) => Promise<Candidate | undefined>;

const PLACES: readonly Find[] = [
  findInDatabase,
  findInStorage,
  (env) =>
    findLines("Claude Code", join(env.CLAUDE_CONFIG_DIR || join(homeOf(env), ".claude"), "projects"), {
      // A sub-agent's file is no session of its own.
      isSession: (name) => !name.startsWith("agent-"),
    }),
  (env) => findLines("Codex", join(env.CODEX_HOME || join(homeOf(env), ".codex"), "sessions")),
  (env) => findLines("pi", join(env.PI_CODING_AGENT_DIR || join(homeOf(env), ".pi", "agent"), "sessions")),
];

function homeOf(env: NodeJS.ProcessEnv): string {
  return env.HOME || homedir();
}

function openCodeFolder(env: NodeJS.ProcessEnv): string {
  const { XDG_DATA_HOME: data } = env;
  return join(data && isAbsolute(data) ? data : join(homeOf(env), ".local", "share"), "opencode");
}

async function findInDatabase(env: NodeJS.ProcessEnv): Promise<Candidate | undefined> {
  const place = join(openCodeFolder(env), "opencode.db");
  // The database itself is written late; the log beside it is not.
  const times = await Promise.all([modifiedMs(place), modifiedMs(`${place}-wal`)]);
  if (times[0] === undefined) return undefined;
  return {
    agent: "OpenCode",
    place,
    modifiedMs: Math.max(...times.map((time) => time ?? 0)),
    open: async () => readBytes(await openDatabase(env), place),
  };
}

async function findInStorage(env: NodeJS.ProcessEnv): Promise<Candidate | undefined> {
  const storage = join(openCodeFolder(env), "storage");
  const newest = await findStoredSession(storage);
  if (newest === undefined) return undefined;
  return {
    agent: "OpenCode",
    place: newest.path,
    modifiedMs: newest.modifiedMs,
    open: async () => readBytes(await readStoredSession(storage, newest.path), newest.path),
  };
}

interface LinesOptions {
  readonly isSession?: (name: string) => boolean;
}

async function findLines(
  agent: string,
  folder: string,
  { isSession = () => true }: LinesOptions = {},
): Promise<Candidate | undefined> {
  const newest = await newestFile(folder, (name) => /\.jsonl(\.gz)?$/.test(name) && isSession(name));
  if (newest === undefined) return undefined;
  return {
    agent,
    place: newest.path,
    modifiedMs: newest.modifiedMs,
    open: () => readInput(newest.path, "live"),
  };
}
