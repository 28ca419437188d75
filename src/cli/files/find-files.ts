import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { errorMessage } from "../../text/display.ts";
import { CliError } from "../terminal/cli-error.ts";

/** The transcript files at these paths: files as given, folders searched recursively, in a stable order. */
export async function findTranscriptFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = [];
  for (const path of paths) {
    if (await isFolder(path)) files.push(...(await filesIn(path)));
    else files.push(path);
  }
  if (files.length > 0) return [...new Set(files)];
  throw new CliError(`There is no transcript in ${paths.join(", ")}`, [
    "Looked for names that end with .jsonl, .json or .traj, each also with .gz or .zst.",
  ]);
}

const TRANSCRIPT_NAME = /\.(?:jsonl|json|traj)(?:\.gz|\.zst)?$/;

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw new CliError(`Cannot read ${path}: ${errorMessage(error)}`, [], { cause: error });
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
      .sort()
  );
}

/** The most recently modified file below a folder; undefined if there is none or no such folder. */
export async function newestFile(
  folder: string,
  isWanted: (name: string) => boolean,
): Promise<DatedFile | undefined> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let newest: DatedFile | undefined;
  for (const entry of entries) {
    if (!entry.isFile() || !isWanted(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const time = await modifiedMs(path);
    if (time !== undefined && (newest === undefined || time > newest.modifiedMs))
      newest = { path, modifiedMs: time };
  }
  return newest;
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
