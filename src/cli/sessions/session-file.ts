import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { asObject, asString, jsonOrText } from "../../text/json.ts";
import { exportSession } from "../opencode/sessions.ts";
import { CliError } from "../terminal/cli-error.ts";
import { findSessions } from "./find-newest-session.ts";
import { isOpenCodeId, sessionPath } from "./open-session.ts";

/** A session that is a file for as long as it is used. */
export interface SessionFile {
  readonly path: string;
  /** By what it can be opened again: the path of its file, or the id of one that its agent keeps in a database. */
  readonly name: string;
}

/**
 * The file of a session that the user names as `openSession` takes it, unread: one that is damaged is not passed over
 * for an older one that is not.
 */
export async function withSessionFile<Result>(
  named: string | undefined,
  env: NodeJS.ProcessEnv,
  use: (file: SessionFile) => Promise<Result>,
): Promise<Result> {
  const useFile = (path: string): Promise<Result> => use({ path: resolve(path), name: resolve(path) });
  if (named === undefined) {
    const [newest] = await findSessions(env);
    if (newest === undefined)
      throw new CliError("There is no session of OpenCode, Claude Code, Codex or pi on this machine", [
        "Give the path of a session file.",
      ]);
    return newest.source.type === "file" ? useFile(newest.place) : useExport(await newest.source.read(), use);
  }
  const path = await sessionPath(named, env);
  if (existsSync(path)) return useFile(path);
  if (isOpenCodeId(path)) return useExport(await exported(path, env), use);
  throw new CliError(`There is no file and no session ${named}`, [
    "Give the path of a session file, or the id of a session of Claude Code, Codex, OpenCode or pi.",
  ]);
}

async function exported(id: string, env: NodeJS.ProcessEnv): Promise<Uint8Array> {
  return exportSession(id, env).catch((error: Error) => {
    throw new CliError(`Cannot read session ${id}: ${error.message}`, [], { cause: error });
  });
}

/** An export lies in a folder of its own for as long as it is used. */
async function useExport<Result>(
  bytes: Uint8Array,
  use: (file: SessionFile) => Promise<Result>,
): Promise<Result> {
  const { info } = asObject(jsonOrText(Buffer.from(bytes).toString("utf8")));
  const folder = await mkdtemp(join(tmpdir(), "carryover-"));
  try {
    const path = join(folder, "session.json");
    await writeFile(path, bytes, { mode: 0o600 });
    return await use({ path, name: asString(asObject(info).id) ?? path });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
