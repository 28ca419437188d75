import { constants, copyFile, realpath, stat } from "node:fs/promises";
import { errorMessage } from "../../text/failure.ts";
import { CliError } from "../terminal/cli-error.ts";
import { cannotRead } from "./unreadable.ts";
import { writeFileAtomic } from "./write-file.ts";

/** A file's state when it was read, to be compared before it is replaced. */
export interface FileVersion {
  /** With links resolved. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly mode: number;
}

/** The present state of a file. */
export async function fileVersion(path: string): Promise<FileVersion> {
  try {
    const resolved = await realpath(path);
    const { size, mtimeMs, mode } = await stat(resolved);
    return { path: resolved, sizeBytes: size, modifiedMs: mtimeMs, mode: mode & 0o777 };
  } catch (error) {
    throw cannotRead(path, error as NodeJS.ErrnoException);
  }
}

/** Backs a file up, replaces it atomically and gives the path of the backup. Throws if it was written to since it was read. */
export async function replaceFile(version: FileVersion, content: string | Uint8Array): Promise<string> {
  await checkUnchanged(version);
  const backup = await backUp(version.path);
  await checkUnchanged(version);
  await writeFileAtomic(version.path, content, { mode: version.mode });
  return backup;
}

async function checkUnchanged(version: FileVersion): Promise<void> {
  const now = await fileVersion(version.path);
  if (now.sizeBytes === version.sizeBytes && now.modifiedMs === version.modifiedMs) return;
  throw new CliError(`${version.path} has changed since it was read; it was left as it is`, [
    "An agent is probably at work in this session. End it and try again.",
  ]);
}

/** Copies a file to the first free name, so that no older backup is overwritten. */
async function backUp(path: string): Promise<string> {
  for (let number = 0; number < MAX_BACKUPS; number++) {
    const backup = number === 0 ? `${path}.bak` : `${path}.bak${number}`;
    try {
      await copyFile(path, backup, constants.COPYFILE_EXCL);
      return backup;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw new CliError(`Cannot write ${backup}: ${errorMessage(error)}`, ["Nothing was changed."], {
        cause: error,
      });
    }
  }
  throw new CliError(`There are ${MAX_BACKUPS} copies of ${path} already`, ["Remove some of them."]);
}

const MAX_BACKUPS = 1000;
