import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { dataHome } from "../../plugin/stores/folders.ts";
import { errorMessage } from "../../text/failure.ts";
import { modifiedMs, newestFiles } from "../files/find-files.ts";
import { type InputFile, readBytes, readInput } from "../files/read-input.ts";
import { exportNewestSession, readStoredSession } from "../opencode/sessions.ts";
import { withStores } from "../opencode/with-stores.ts";
import { CliError } from "../terminal/cli-error.ts";
import { type WrittenCopies, writtenCopies } from "./notes.ts";
import { agentNames, type SessionFolder, sessionFolders } from "./session-agents.ts";

/** The newest session, and how it was found. */
export interface FoundSession {
  readonly file: InputFile;
  /** A line that names the agent and the place. */
  readonly found: string;
  /** Newer sessions that could not be read, and why. */
  readonly skipped: readonly string[];
  /** Set where there is no session on this machine. */
  readonly isExample?: true;
}

/** The newest session of any agent on this machine; where there is none, an example. */
export async function findNewestSession(
  env: NodeJS.ProcessEnv,
  keep: "all" | "window" = "window",
): Promise<FoundSession> {
  const skipped: string[] = [];
  let empty: FoundSession | undefined;
  for (const { agent, place, source } of await findSessions(env)) {
    try {
      const bytes = source.type === "file" ? undefined : await source.read();
      if (source.type === "export" && bytes === undefined) continue;
      const file = bytes === undefined ? await readInput(place, keep) : await readBytes(bytes, place);
      const found = `The newest session on this machine, of ${agent}: ${place}`;
      if (file.transcript.length > 0) return { file, found, skipped };
      // A program that was only started leaves such a one.
      empty ??= { file, found, skipped: [...skipped] };
      skipped.push(`a newer session of ${agent} is passed over: nothing was said in ${place} yet`);
    } catch (error) {
      skipped.push(`a newer session of ${agent} is passed over: ${errorMessage(error)}`);
    }
  }
  if (empty !== undefined) return empty;
  const file = await readExample();
  const found =
    skipped.length === 0
      ? `No session of ${agentNames()} is here; this is an example`
      : "No session on this machine can be read; this is an example";
  return { file, found, skipped, isExample: true };
}

/** The recorded session that comes with the package. */
async function readExample(): Promise<InputFile> {
  const place = EXAMPLES.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  if (place === undefined) throw noSession();
  return { ...(await readInput(fileURLToPath(place))), name: "the example" };
}

/** Seen from the sources, from the package's bundle, and from one of a single file. */
const EXAMPLES: readonly string[] = (
  import.meta.url.endsWith("/find-newest-session.ts") ? ["../../../"] : ["../../", "../"]
).map((folder) => `${folder}examples/sessions/opencode-session.json`);

/** What a command says that has no use for an example. */
export function noSession(): CliError {
  return new CliError(`There is no session of ${agentNames()} on this machine`, [
    "Give the path of a session file.",
  ]);
}

/**
 * The newest sessions of each agent on this machine, the newest of all first, unread. What we wrote for a handoff is a
 * copy, and counts when somebody has gone on with it.
 */
export async function findSessions(env: NodeJS.ProcessEnv): Promise<readonly StoredSession[]> {
  const copies = await writtenCopies(env);
  const found = await Promise.all([
    findInDatabase(env, copies),
    findInStorage(env),
    ...sessionFolders(env).map((folder) => findLines(folder, copies)),
  ]);
  return found.flat().sort((a, b) => b.modifiedMs - a.modifiedMs);
}

/** Where an agent keeps a session. */
export interface StoredSession {
  readonly agent: string;
  /** The path, for display. */
  readonly place: string;
  readonly modifiedMs: number;
  /** `export`: it is put together from a database, or from many files; undefined where the database has none. */
  readonly source:
    | { readonly type: "file" }
    | { readonly type: "export"; readonly read: () => Promise<Uint8Array | undefined> };
}

async function findInDatabase(
  env: NodeJS.ProcessEnv,
  { messages }: WrittenCopies,
): Promise<readonly StoredSession[]> {
  const place = join(dataHome(env), "opencode", "opencode.db");
  // The write-ahead log changes before the database does.
  const times = await Promise.all([modifiedMs(place), modifiedMs(`${place}-wal`)]);
  if (times[0] === undefined) return [];
  const modifiedAt = Math.max(...times.map((time) => time ?? 0));
  const read = () => exportNewestSession(env, { forkSessions, copies: messages });
  return [{ agent: "OpenCode", place, modifiedMs: modifiedAt, source: { type: "export", read } }];
}

/** The sessions in which forks work, as far as they are recorded. */
async function forkSessions(): Promise<ReadonlySet<string>> {
  const { records } = await withStores(undefined, ({ stores }) => stores.recordedForks()).catch(() => ({
    records: [],
  }));
  return new Set(records.flatMap(({ childSessionId }) => childSessionId ?? []));
}

/** Older versions of OpenCode kept a session in JSON files. */
async function findInStorage(env: NodeJS.ProcessEnv): Promise<readonly StoredSession[]> {
  const storage = join(dataHome(env), "opencode", "storage");
  const files = await newestFiles(join(storage, "session"), (name) => name.endsWith(".json"));
  return files.slice(0, MAX_OF_EACH).map(({ path, ...file }) => ({
    ...file,
    agent: "OpenCode",
    place: path,
    source: { type: "export", read: () => readStoredSession(storage, path) },
  }));
}

async function findLines(
  { agent, folder, idOf, isMain }: SessionFolder,
  { paths }: WrittenCopies,
): Promise<readonly StoredSession[]> {
  const files = await newestFiles(
    folder,
    (name, path) => idOf(name) !== undefined && isMain(name) && !paths.has(path),
  );
  return files.slice(0, MAX_OF_EACH).map(({ path, ...file }) => ({
    ...file,
    agent,
    place: path,
    source: { type: "file" },
  }));
}

/** A program that was only started leaves a session in which nothing was said; so many are passed over. */
const MAX_OF_EACH = 20;
