import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tailOf } from "../../agents/files/file-end.ts";
import type { CallingTool } from "../../agents/hooks/hook-agent.ts";
import { type AgentPlace, sessionsFolder } from "../../agents/places.ts";
import { asString } from "../../text/unknown-value.ts";

export function projectFolder({ directory, env }: AgentPlace): string {
  return join(sessionsFolder("claude-code", env), directory.replaceAll(/[^A-Za-z0-9]/g, "-"));
}

export async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}

/**
 * The environment names the session in which the server was started: after `/clear` another one calls. A session writes its
 * lines down a moment after it has called a tool, so that without waiting a child would not know the newest of them.
 */
export async function callingSession({ meta }: CallingTool, place: AgentPlace): Promise<string | undefined> {
  const started = place.env.CLAUDE_CODE_SESSION_ID;
  const callId = asString(meta["claudecode/toolUseId"]);
  if (callId === undefined) return started;
  const folder = projectFolder(place);
  for (let waitedMs = 0; waitedMs < WRITTEN_MS; waitedMs += PAUSE_MS) {
    for (const name of (await newestFiles(folder)).slice(0, MAX_LOOKED_AT))
      if (tailOf(join(folder, name), TAIL_BYTES).includes(callId)) return basename(name, ".jsonl");
    await sleep(PAUSE_MS);
  }
  return started;
}

/** How long a call may take until it is written down. That of a sub-agent never is, at least not here. */
const WRITTEN_MS = 1_500;
const PAUSE_MS = 25;

/** The sessions of a folder, newest first. */
export async function newestFiles(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => SESSION_FILE.test(name));
  const files = await Promise.all(
    names.map(async (name) => ({ name, atMs: (await stat(join(folder, name))).mtimeMs })),
  );
  return files.sort((one, other) => other.atMs - one.atMs).map(({ name }) => name);
}

const SESSION_FILE = /^[0-9a-f-]{36}\.jsonl$/;
const MAX_LOOKED_AT = 4;
const TAIL_BYTES = 256 * 1024;
