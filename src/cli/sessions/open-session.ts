import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { errorMessage } from "../../text/failure.ts";
import { plural } from "../../text/format-number.ts";
import { jsonOrText } from "../../text/json.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import { printWarnings, readBytes, readInput, standardInput } from "../files/read-input.ts";
import { MIN_ID_CHARS, noSuchId } from "../files/unreadable.ts";
import { exportSession } from "../opencode/sessions.ts";
import { CliError } from "../terminal/cli-error.ts";
import { createProgressLine } from "../terminal/progress-line.ts";
import { type FoundSession, findNewestSession, findSessions, noSession } from "./find-newest-session.ts";
import { sessionFolders } from "./session-agents.ts";

/** What a user can name a session by, for the help of commands. */
export const SESSION_ARGUMENT: string = `a file of any format that is known, also packed (.gz, .zst), the id of a session or at least its first ${MIN_ID_CHARS} characters; - reads standard input`;

/** Opens a session as the user names it, the newest without a name, and prints what is wrong with it. */
export async function openNamedSession(
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
  if (!isOpenCodeId(path)) return { file: await readInput(path, keep) };
  return { file: await readBytes(await exported(path, env), `OpenCode session ${path}`) };
}

/** The file of a session that the user names by its path, its id or the beginning of an id; what is neither is given back. */
export async function sessionPath(named: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  if (named.length < MIN_ID_CHARS || !/^[\w-]+$/.test(named) || existsSync(named) || isOpenCodeId(named))
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

async function exported(id: string, env: NodeJS.ProcessEnv): Promise<Uint8Array> {
  return exportSession(id, env).catch((error: Error) => {
    throw new CliError(`Cannot read OpenCode session ${id}: ${error.message}`, [], { cause: error });
  });
}

/** A session that is a file for as long as it is used. */
export interface SessionFile {
  readonly path: string;
  /** By what it can be opened again: the path of its file, or the id of one that its agent keeps in a database. */
  readonly name: string;
  /** It came from standard input, and cannot be opened again. */
  readonly isPiped?: true;
}

/** A session in which nothing was said. */
export class EmptySession extends CliError {}

/**
 * The file of a session that the user names as `openNamedSession` takes it, unread: one that is damaged is not passed over
 * for an older one that is not. Of the newest those in which nothing was said are.
 */
export async function withSessionFile<Result>(
  named: string | undefined,
  env: NodeJS.ProcessEnv,
  use: UseFile<Result>,
): Promise<Result> {
  if (named === undefined) return useNewest(env, use);
  if (named === "-") return useBytes(await standardInput(), { name: "standard input", isPiped: true }, use);
  const path = await sessionPath(named, env);
  if (existsSync(path)) return useFile(path, use);
  if (isOpenCodeId(path)) return useExport(await exported(path, env), use);
  throw new CliError(`There is no file and no session ${named}`, [
    ...(/^[\w-]+$/.test(named) ? [noSuchId(named)] : []),
    "Give the path of a session file, or the id of a session of Claude Code, Codex, OpenCode or pi.",
  ]);
}

type UseFile<Result> = (file: SessionFile) => Promise<Result>;

async function useNewest<Result>(env: NodeJS.ProcessEnv, use: UseFile<Result>): Promise<Result> {
  for (const { agent, place, source } of await findSessions(env)) {
    const passOver = (reason: string): void =>
      void process.stderr.write(`a newer session of ${agent} is passed over: ${reason}\n`);
    try {
      if (source.type === "file") return await useFile(place, use);
      // What cannot be asked for is no session that could be damaged.
      const bytes = await source.read().catch((error: unknown) => passOver(errorMessage(error)));
      if (bytes !== undefined) return await useExport(bytes, use);
    } catch (error) {
      if (!(error instanceof EmptySession)) throw error;
      passOver(error.message);
    }
  }
  throw noSession();
}

function useFile<Result>(path: string, use: UseFile<Result>): Promise<Result> {
  return use({ path: resolve(path), name: resolve(path) });
}

async function useExport<Result>(bytes: Uint8Array, use: UseFile<Result>): Promise<Result> {
  const { info } = asObject(jsonOrText(Buffer.from(bytes).toString("utf8")));
  const id = asString(asObject(info).id);
  return useBytes(bytes, id === undefined ? {} : { name: id }, use);
}

/** What is no file lies in a folder of its own for as long as it is used. */
async function useBytes<Result>(
  bytes: Uint8Array,
  file: Partial<SessionFile>,
  use: UseFile<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "carryover-"));
  try {
    const path = join(folder, "session.json");
    await writeFile(path, bytes, { mode: 0o600 });
    return await use({ path, name: path, ...file }).catch((error: unknown) => {
      // The user knows it by its name only.
      if (error instanceof CliError) error.message = error.message.replaceAll(path, file.name ?? path);
      throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
