import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { plural } from "../../text/truncate.ts";
import { type InputFile, MIN_ID_CHARS, printWarnings, readBytes, readInput } from "../files/read-input.ts";
import { exportSession } from "../opencode/sessions.ts";
import { CliError } from "../terminal/cli-error.ts";
import { createProgressLine } from "../terminal/output.ts";
import { type FoundSession, findNewestSession, sessionFolders } from "./find-newest-session.ts";

/** What a user can name a session by, for the help of commands. */
export const SESSION_ARGUMENT: string = `a file of any format that is known, also packed (.gz, .zst), the id of a session or at least its first ${MIN_ID_CHARS} characters; - reads standard input`;

/** Opens a session as the user names it, the newest without a name, and prints what is wrong with it. */
export async function openSession(
  named: string | undefined,
  { env = process.env, keep = "all" }: OpenSessionOptions = {},
): Promise<OpenedSession> {
  const progress = createProgressLine();
  progress.show(`reading ${named ?? "the newest session"}`);
  const opened = await findOrRead(named, { env, keep }).finally(() => progress.end());
  for (const line of opened.skipped ?? []) process.stderr.write(`warning: ${line}\n`);
  printWarnings(opened.file);
  return opened;
}

interface OpenSessionOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** `window` keeps in memory only what the conversation goes on with, and sizes of the rest. */
  readonly keep?: "all" | "window";
}

/** A session; how it was found, where it is the newest one. */
export type OpenedSession = Pick<FoundSession, "file"> & Partial<FoundSession>;

async function findOrRead(
  named: string | undefined,
  { env, keep }: Required<OpenSessionOptions>,
): Promise<OpenedSession> {
  if (named === undefined) return findNewestSession(env, keep);
  const path = await sessionPath(named, env);
  return { file: isOpenCodeId(path) ? await readExported(path, env) : await readInput(path, keep) };
}

/** The file of a session that the user names by its path, its id or the beginning of an id; what is neither is given back. */
export async function sessionPath(named: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  if (named.length < MIN_ID_CHARS || !/^[\w-]+$/.test(named) || (await isThere(named)) || isOpenCodeId(named))
    return named;
  const found = await sessionsNamed(named, env);
  const [first, ...others] = found;
  if (first === undefined) return named;
  if (others.length === 0) return first.path;
  throw new CliError(`${named} is the beginning of ${plural(found.length, "session id")}`, [
    ...found.slice(0, MAX_LISTED).map(({ agent, id }) => `  ${agent}: ${id}`),
    "Name more of it.",
  ]);
}

const MAX_LISTED = 10;

interface NamedSession {
  readonly agent: string;
  readonly id: string;
  readonly path: string;
}

/** The sessions whose id begins so; only the one that is named exactly where there is one. */
async function sessionsNamed(named: string, env: NodeJS.ProcessEnv): Promise<readonly NamedSession[]> {
  const found = new Map<string, NamedSession>();
  for (const { agent, folder, idOf } of sessionFolders(env)) {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const { name, parentPath } of entries) {
      const id = idOf(name);
      // A sub-agent is known by a short id, which its file begins with `agent-`.
      if (id === undefined || !(id.startsWith(named) || id.startsWith(`agent-${named}`))) continue;
      const key = `${agent} ${id}`;
      // Codex unpacks a file when it goes on with it: the plain one is the newer.
      if (!found.has(key) || name.endsWith(".jsonl"))
        found.set(key, { agent, id, path: join(parentPath, name) });
    }
  }
  const all = [...found.values()];
  const exact = all.filter(({ id }) => id === named || id === `agent-${named}`);
  return exact.length > 0 ? exact : all;
}

/** True for an id as OpenCode gives them. */
export function isOpenCodeId(named: string): boolean {
  return /^ses_\w+$/.test(named);
}

async function readExported(id: string, env: NodeJS.ProcessEnv): Promise<InputFile> {
  const name = `OpenCode session ${id}`;
  const bytes = await exportSession(id, env).catch((error: Error) => {
    throw new CliError(`Cannot read ${name}: ${error.message}`, [], { cause: error });
  });
  return readBytes(bytes, name);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
