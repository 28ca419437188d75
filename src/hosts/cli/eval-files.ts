import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "./cli-error.ts";

/** The transcript files among these paths: files as given, folders searched to the bottom, in a stable order. */
export async function findEvalFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = [];
  for (const path of paths) {
    if (await isFolder(path)) files.push(...(await filesIn(path)));
    else files.push(path);
  }
  if (files.length > 0) return [...new Set(files)];
  throw new CliError(`There is no transcript in ${paths.join(", ")}`, [
    "Looked for names that end with .jsonl, .json or .traj, each also with .gz.",
  ]);
}

const TRANSCRIPT_NAME = /\.(?:jsonl|json|traj)(?:\.gz)?$/;

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw new CliError(`Cannot read ${path}: ${(error as Error).message}`, [], { cause: error });
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && TRANSCRIPT_NAME.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
