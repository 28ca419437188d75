import { statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { CliError } from "../terminal/cli-error.ts";
import { cannotRead } from "./unreadable.ts";

/** The transcript files at these paths: files as given, folders searched recursively, in a stable order. */
export async function findTranscriptFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = [];
  for (const path of paths) {
    if (await isGivenFolder(path)) files.push(...(await filesIn(path)));
    else files.push(path);
  }
  if (files.length > 0) return [...new Set(files)];
  throw new CliError(`There is no transcript in ${paths.join(", ")}`, [
    "Looked for names that end with .jsonl, .json or .traj, each also with .gz or .zst.",
  ]);
}

const TRANSCRIPT_NAME = /\.(?:jsonl|json|traj)(?:\.gz|\.zst)?$/;

async function isGivenFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw cannotRead(path, error as NodeJS.ErrnoException);
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return (
    entries
      .filter(
        (entry) => entry.isFile() && TRANSCRIPT_NAME.test(entry.name) && !entry.name.endsWith(".meta.json"),
      )
      // Long outputs that Claude Code keeps beside a session; some of them are JSON.
      .filter((entry) => basename(entry.parentPath) !== "tool-results")
      .map((entry) => join(entry.parentPath, entry.name))
      // Of a project's folder: what its packages hold is nobody's session.
      .filter((path) => !relative(folder, path).split(sep).includes("node_modules"))
      .sort()
  );
}

/** The files below a folder that hold something, the most recently modified first; none where there is no such folder. */
export async function newestFiles(
  folder: string,
  isWanted: (name: string, path: string) => boolean,
): Promise<readonly DatedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const found: DatedFile[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !isWanted(entry.name, path)) continue;
    const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));
    if (size > 0) found.push({ path, modifiedMs: mtimeMs });
  }
  return found.sort((one, other) => other.modifiedMs - one.modifiedMs);
}

/** When a file was last modified; undefined if it does not exist. */
export async function modifiedMs(path: string): Promise<number | undefined> {
  return stat(path).then(
    (found) => found.mtimeMs,
    () => undefined,
  );
}

/** A file and when it was last modified. */
interface DatedFile {
  readonly path: string;
  readonly modifiedMs: number;
}

/** True for a folder that is there. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
