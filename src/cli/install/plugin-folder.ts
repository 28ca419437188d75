import { copyFile, mkdir, readdir, readFile, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "../../plugin/context/context.ts";
import { dataHome } from "../../plugin/stores/folders.ts";
import { jsonOrText } from "../../text/json.ts";
import { asArray } from "../../text/unknown-value.ts";
import { fileVersion } from "../files/replace-file.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import { CliError } from "../terminal/cli-error.ts";

/** The plugin folder that the package brings, beside the command line. */
export function packagedFolder(): string {
  return fileURLToPath(new URL("../agents", import.meta.url));
}

/**
 * Where it is copied to for one agent: Claude Code runs it in place, and the package may lie in a cache that is emptied. Not in
 * the folder of what is kept, which `purge` may delete.
 */
export function folderFor(agent: string, env: Environment): string {
  return join(dataHome(env), "carryover-agents", agent);
}

/**
 * Puts a copy in place of the one before, file by file and each whole, those that others load first: at no time is the folder
 * away or half of it missing. A server that runs from it loads its parts as it needs them, so those of the install before stay.
 */
export async function copyFolder(from: string, to: string): Promise<void> {
  const isThere = await stat(join(from, "carryover", "hook.js")).catch(() => undefined);
  if (isThere === undefined)
    throw new CliError(`the plugin folder is missing in the package: ${from}`, [
      "Install the package again.",
    ]);
  const isNew = (await stat(to).catch(() => undefined)) === undefined;
  const before = await filesIn(to);
  const beforeMs = await stat(join(to, "carryover", "hook.js")).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  const files = (await filesIn(from)).sort((one, other) => Number(isPart(other)) - Number(isPart(one)));
  const isSameBuild = files.every((file) => !isPart(file) || before.includes(file));
  try {
    await mkdir(to, { recursive: true, mode: 0o700 });
    for (const file of files) await copyWhole(join(from, file), join(to, file));
  } catch (error) {
    if (isNew) await removeFolder(to);
    throw error;
  }
  const keptMs = Math.min(beforeMs - SAME_INSTALL_MS, Date.now() - KEPT_MS);
  for (const file of before) {
    if (files.includes(file)) continue;
    const path = join(to, file);
    if (isPart(file) && (isSameBuild || (await stat(path)).mtimeMs >= keptMs)) continue;
    await rm(path, { force: true });
  }
}

/** A part that an entry loads; its name says its content. */
const isPart = (file: string): boolean => file.startsWith(PARTS);

const PARTS = join("carryover", "lib", "/");
/** The files of one install are not of the same moment. */
const SAME_INSTALL_MS = 60_000;
const KEPT_MS = 7 * 86_400_000;

async function filesIn(folder: string): Promise<string[]> {
  const files: string[] = [];
  for (const path of await readdir(folder, { recursive: true }).catch(() => []))
    if ((await stat(join(folder, path))).isFile()) files.push(path);
  return files;
}

async function copyWhole(from: string, to: string): Promise<void> {
  const fresh = `${to}.new`;
  await mkdir(dirname(to), { recursive: true });
  try {
    await copyFile(from, fresh);
    await rename(fresh, to);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

/** Removes the plugin of an agent, and the folder around it with the last of them. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await rm(userNotes(folder), { force: true });
  await rmdir(dirname(folder)).catch(() => undefined);
}

/** Notes settings that name the folder: several accounts may have a folder of settings each. */
export async function noteUser(folder: string, settings: string): Promise<void> {
  const known = await notedUsers(folder);
  const isThere = (await stat(settings).catch(() => undefined)) !== undefined;
  const users = new Set([...known, settings, ...(isThere ? [] : [MADE + settings])]);
  await writeFileAtomic(userNotes(folder), `${JSON.stringify([...users])}\n`);
}

/** Settings that were not there before the install. */
const MADE = "made ";

/** Removes settings that an install has made, where nothing stands in them any more. */
export async function removeMade(folder: string, settings: string): Promise<void> {
  if (!(await notedUsers(folder)).includes(MADE + settings)) return;
  const text = await readFile(settings, "utf8").catch(() => "");
  if (/^\s*\{\s*\}\s*$/.test(text)) await rm(settings, { force: true });
}

/** The settings that still name the folder, of those that were noted and those that are looked at anyway. */
export async function usersOf(folder: string, alsoIn: readonly string[]): Promise<readonly string[]> {
  const users: string[] = [];
  const noted = (await notedUsers(folder)).filter((file) => !file.startsWith(MADE));
  for (const file of new Set([...alsoIn, ...noted])) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text.includes(JSON.stringify(folder))) users.push(file);
  }
  return users;
}

async function notedUsers(folder: string): Promise<readonly string[]> {
  const text = await readFile(userNotes(folder), "utf8").catch(() => "");
  return asArray(jsonOrText(text)).map(String);
}

const userNotes = (folder: string): string => `${folder}.used-by.json`;

/** Writes settings anew where they lie, behind a link too, and as readable as they were. */
export async function rewriteSettings(file: string, text: string): Promise<void> {
  const { path, mode } = await fileVersion(file).catch(() => ({ path: file, mode: 0o600 }));
  await writeFileAtomic(path, text, { mode });
}
