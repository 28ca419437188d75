import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The file below a folder that was written last; undefined where there is none or no such folder. */
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

/** When a file was written last; undefined where there is none. */
export async function modifiedMs(path: string): Promise<number | undefined> {
  return stat(path).then(
    (found) => found.mtimeMs,
    () => undefined,
  );
}

/** A file and when it was written last. */
export interface DatedFile {
  readonly path: string;
  readonly modifiedMs: number;
}
