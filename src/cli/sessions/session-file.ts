import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { asObject, asString, jsonOrText } from "../../text/json.ts";
import { errorMessage } from "../../text/truncate.ts";
import { noSuchId, standardInput } from "../files/read-input.ts";
import { exportSession } from "../opencode/sessions.ts";
import { CliError } from "../terminal/cli-error.ts";
import { findSessions, noSession } from "./find-newest-session.ts";
import { isOpenCodeId, sessionPath } from "./open-session.ts";

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
 * The file of a session that the user names as `openSession` takes it, unread: one that is damaged is not passed over
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

async function exported(id: string, env: NodeJS.ProcessEnv): Promise<Uint8Array> {
  return exportSession(id, env).catch((error: Error) => {
    throw new CliError(`Cannot read session ${id}: ${error.message}`, [], { cause: error });
  });
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
