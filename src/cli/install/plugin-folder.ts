import { cp, mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { dataHome } from "../../plugin/stores/folders.ts";
import { fileVersion, writeFileAtomic } from "../files/write-file.ts";
import { CliError } from "../terminal/cli-error.ts";

/** The plugin folder that the package brings, beside the command line. */
export function packagedFolder(): string {
  return fileURLToPath(new URL("./agents", import.meta.url));
}

/**
 * Where it is copied to for one agent: Claude Code runs it in place, and the package may lie in a cache that is emptied. Not in
 * the folder of what is kept, which `purge` may delete.
 */
export function folderFor(agent: string, env: Readonly<Record<string, string | undefined>>): string {
  return join(dataHome(env), "carryover-agents", agent);
}

/** Puts a copy in place of the one before. */
export async function copyFolder(from: string, to: string): Promise<void> {
  const isThere = await stat(join(from, "carryover", "hook.js")).catch(() => undefined);
  if (isThere === undefined)
    throw new CliError(`the plugin folder is missing in the package: ${from}`, [
      "Install the package again.",
    ]);
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  const fresh = `${to}.new`;
  await rm(fresh, { recursive: true, force: true });
  await cp(from, fresh, { recursive: true });
  await rm(to, { recursive: true, force: true });
  await rename(fresh, to);
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

/** Writes settings anew where they lie, behind a link too, and as readable as they were. */
export async function rewriteSettings(file: string, text: string): Promise<void> {
  const { path, mode } = await fileVersion(file).catch(() => ({ path: file, mode: 0o600 }));
  await writeFileAtomic(path, text, { mode });
}
