import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pluginFolders, WAITING_FOLDER } from "../../plugin/stores/folders.ts";
import type { AgentPlace } from "../places.ts";

/** Says that a session may have a result to get, so that a hook need not load anything to know that it has none. */
export function markWaiting(env: AgentPlace["env"], sessionId: string, forkId: string): void {
  const folder = waitingFolder(env, sessionId);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, forkId), "", { mode: 0o600 });
}

/** The forks of a session that may have a result for it. */
export function waitingForks(env: AgentPlace["env"], sessionId: string): readonly string[] {
  try {
    return readdirSync(waitingFolder(env, sessionId));
  } catch {
    return [];
  }
}

export function unmarkWaiting(env: AgentPlace["env"], sessionId: string, forkId: string): void {
  rmSync(join(waitingFolder(env, sessionId), forkId), { force: true });
}

/** Notes the permission mode of a call, which the server of the call is not told. */
export function noteMode(env: AgentPlace["env"], callId: string, mode: string): void {
  const folder = modesFolder(env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, fileName(callId)), mode, { mode: 0o600 });
}

/** The mode that was noted for a call; it is asked for once. */
export function takeMode(env: AgentPlace["env"], callId: string): string | undefined {
  const file = join(modesFolder(env), fileName(callId));
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  } finally {
    rmSync(file, { force: true });
  }
}

function modesFolder(env: AgentPlace["env"]): string {
  return join(pluginFolders({ store: undefined, env }).root, WAITING_FOLDER, "modes");
}

function fileName(id: string): string {
  return id.replaceAll(/[^\w-]/g, "_").slice(0, 120) || "unknown";
}

function waitingFolder(env: AgentPlace["env"], sessionId: string): string {
  const { root } = pluginFolders({ store: undefined, env });
  return join(root, WAITING_FOLDER, fileName(sessionId));
}
