import { constants, copyFile, realpath, stat } from "node:fs/promises";
import { CliError } from "./cli-error.ts";
import { writeWhole } from "./write-whole.ts";

/** A file as it was when it was read. */
export interface FileVersion {
  /** Links followed. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly mode: number;
}

/** What to hold against the file again before it is replaced. */
export async function fileVersion(path: string): Promise<FileVersion> {
  const whole = await realpath(path);
  const { size, mtimeMs, mode } = await stat(whole);
  return { path: whole, sizeBytes: size, modifiedMs: mtimeMs, mode: mode & 0o777 };
}

/**
 * Replaces a file as a whole and gives the path of the copy that was made of it first. A file that somebody has written
 * to since it was read is left alone.
 */
export async function replaceFile(version: FileVersion, content: string | Uint8Array): Promise<string> {
  await checkUnchanged(version);
  const backup = await copyAside(version.path);
  await checkUnchanged(version);
  await writeWhole(version.path, content, { mode: version.mode });
  return backup;
}

async function checkUnchanged(version: FileVersion): Promise<void> {
  const now = await fileVersion(version.path);
  if (now.sizeBytes === version.sizeBytes && now.modifiedMs === version.modifiedMs) return;
  throw new CliError(`${version.path} has changed since it was read; it was left as it is`, [
    "An agent is probably at work in this session. End it and try again.",
  ]);
}

/** The first free name: an older copy is never written over. */
async function copyAside(path: string): Promise<string> {
  for (let number = 0; number < MAX_BACKUPS; number++) {
    const backup = number === 0 ? `${path}.bak` : `${path}.bak${number}`;
    try {
      await copyFile(path, backup, constants.COPYFILE_EXCL);
      return backup;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw new CliError(`Cannot write ${backup}: ${(error as Error).message}`, ["Nothing was changed."], {
        cause: error,
      });
    }
  }
  throw new CliError(`There are ${MAX_BACKUPS} copies of ${path} already`, ["Remove some of them."]);
}

const MAX_BACKUPS = 1000;
