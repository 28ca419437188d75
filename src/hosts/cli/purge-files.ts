import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { nodeFileSystem } from "../../stores/files/file-system.ts";
import { recordNameOf } from "../../stores/files/record-file.ts";
import { isSha256 } from "../../stores/files/spill-file.ts";
import { TEMPORARY_MAX_AGE_MS } from "../../stores/files/whole-file.ts";
import type { KeptContent, KeptFile } from "./purge-plan.ts";

/** The regular files of a folder; none of a folder that is missing or a link. */
export async function filesIn(folder: string): Promise<readonly KeptFile[]> {
  return (await entriesIn(folder)).flatMap(({ path, type, sizeBytes, modifiedMs }) =>
    type === "file" ? [{ path, sizeBytes, usedAtMs: modifiedMs }] : [],
  );
}

/** The real folders in a folder. */
export async function foldersIn(folder: string): Promise<readonly string[]> {
  return (await entriesIn(folder)).flatMap(({ path, type }) => (type === "folder" ? [path] : []));
}

/** The files below a folder that are named by their content, as a spill store keeps them. */
export async function contentsIn(root: string, kind: KeptContent["kind"]): Promise<readonly KeptContent[]> {
  const contents: KeptContent[] = [];
  for (const shard of await foldersIn(root)) {
    if (!/^[0-9a-f]{2}$/.test(basename(shard))) continue;
    for (const file of await filesIn(shard)) {
      const handle = basename(file.path);
      if (isSha256(handle)) contents.push({ ...file, root, handle, kind });
    }
  }
  return contents;
}

/** True for what a kill has left: a file that was never finished, or a lock, old enough that nobody can still need it. */
export function isLeftBehind({ path, usedAtMs }: KeptFile, nowMs: number): boolean {
  const isUnfinished = /^\.\d+-[0-9a-f]{16}\.tmp$|\.lock(?:\.break)?$/.test(basename(path));
  return isUnfinished && nowMs - usedAtMs > TEMPORARY_MAX_AGE_MS;
}

/** The name of the record that a file belongs to. */
export function recordName({ path }: KeptFile): string | undefined {
  return recordNameOf(basename(path));
}

async function entriesIn(folder: string): Promise<readonly Entry[]> {
  try {
    // The one above too: what lies below a linked folder is not below ours.
    if (!isRealFolder(folder) || !isRealFolder(dirname(folder))) return [];
    const names = await readdir(folder);
    return names.flatMap((name) => entryAt(join(folder, name)));
  } catch {
    return [];
  }
}

/** True for a folder that is there and not a link. */
export function isRealFolder(path: string): boolean {
  return entryAt(path).some(({ type }) => type === "folder");
}

interface Entry {
  readonly path: string;
  readonly type: "file" | "folder" | "other";
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

/** Nothing for one that somebody has removed meanwhile. */
function entryAt(path: string): readonly Entry[] {
  try {
    return [{ ...nodeFileSystem.lstat(path), path }];
  } catch {
    return [];
  }
}
