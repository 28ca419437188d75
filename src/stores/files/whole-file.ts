import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { codeOf, failureOf, type StoreFailure } from "../store-failure.ts";
import type { FileStat, FileSystem } from "./file-system.ts";

/** All bytes of a regular file; throws with the system's code, or UNSAFE_FILE for anything that is not one. */
export function readWholeFile(fs: FileSystem, path: string): Uint8Array {
  const { fd, sizeBytes } = openRegularFile(fs, path);
  try {
    // One byte more than the size shows whether the file grew meanwhile.
    let bytes = Buffer.allocUnsafe(sizeBytes + 1);
    for (let filled = 0; ; ) {
      if (filled === bytes.byteLength) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(filled)]);
      const count = fs.read(fd, bytes.subarray(filled));
      if (count === 0) return bytes.subarray(0, filled);
      filled += count;
    }
  } finally {
    fs.close(fd);
  }
}

/** Like readWholeFile, but undefined when there is no such file. */
export function readWholeFileIfAny(fs: FileSystem, path: string): Uint8Array | undefined {
  try {
    return readWholeFile(fs, path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Makes a new file with these bytes, on the disk if `durable`; leaves nothing behind when it throws. */
export async function writeNewFile(options: NewFile): Promise<void> {
  const { fs, path, bytes, durable } = options;
  const fd = fs.open(path, "create");
  try {
    try {
      writeAll({ fs, fd, bytes });
      if (durable) await fs.fsync(fd);
    } finally {
      fs.close(fd);
    }
  } catch (error) {
    removeQuietly(fs, path);
    throw error;
  }
}

interface NewFile {
  readonly fs: FileSystem;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly durable: boolean;
}

/** Writes on until every byte has been taken. */
export function writeAll({ fs, fd, bytes }: OpenWrite): void {
  for (let written = 0; written < bytes.byteLength; ) {
    const count = fs.write(fd, bytes.subarray(written));
    if (count === 0) throw Object.assign(new Error("the system takes no more bytes"), { code: "EIO" });
    written += count;
  }
}

interface OpenWrite {
  readonly fs: FileSystem;
  readonly fd: number;
  readonly bytes: Uint8Array;
}

/** Brings a folder's own list of names onto the disk, where the system has such a thing. */
export async function syncFolder(fs: FileSystem, path: string): Promise<void> {
  if (process.platform === "win32") return;
  const fd = fs.open(path, "folder");
  try {
    await fs.fsync(fd);
  } catch (error) {
    // Some file systems cannot do this for a folder.
    if (codeOf(error) !== "EINVAL") throw error;
  } finally {
    fs.close(fd);
  }
}

/** A name in this folder that nobody else uses, marked as unfinished. */
export function temporaryPath(folder: string): string {
  return join(folder, `.${process.pid}-${randomBytes(8).toString("hex")}.tmp`);
}

/** Removes what unfinished writers left in this folder, once it is old enough that nobody can still be writing it. */
export function removeOldTemporaries(options: OldTemporaries): number {
  const { fs, folder, nowMs } = options;
  let removed = 0;
  try {
    for (const name of fs.readdir(folder)) {
      if (!/^\.[0-9]+-[0-9a-f]{16}\.tmp$/.test(name)) continue;
      const path = join(folder, name);
      if (nowMs - modifiedMsOf(fs, path) > TEMPORARY_MAX_AGE_MS && removeQuietly(fs, path)) removed += 1;
    }
  } catch {
    // The next start tries again.
  }
  return removed;
}

export const TEMPORARY_MAX_AGE_MS: number = 3_600_000;

interface OldTemporaries {
  readonly fs: FileSystem;
  readonly folder: string;
  readonly nowMs: number;
}

/** Removes a file whose staying would only be untidy; says whether it is gone by our hand. */
export function removeQuietly(fs: FileSystem, path: string): boolean {
  try {
    fs.unlink(path);
    return true;
  } catch {
    return false;
  }
}

/** Removes a file that may be absent. */
export function removeIfAny(fs: FileSystem, path: string): void {
  try {
    fs.unlink(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Opens a regular file for reading; the caller closes it. */
export function openRegularFile(fs: FileSystem, path: string): OpenFile {
  const fd = fs.open(path, "read");
  try {
    const { type, sizeBytes } = fs.fstat(fd);
    if (type === "file") return { fd, sizeBytes };
    throw Object.assign(new Error(`${path} is not a regular file`), { code: "UNSAFE_FILE" });
  } catch (error) {
    fs.close(fd);
    throw error;
  }
}

interface OpenFile {
  readonly fd: number;
  readonly sizeBytes: number;
}

function modifiedMsOf(fs: FileSystem, path: string): number {
  try {
    return fs.lstat(path).modifiedMs;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Makes sure that the folder exists and is ours alone; a link, a foreign owner or a failing call is a value. */
export async function openPrivateFolder(
  options: PrivateFolderOptions,
): Promise<PrivateFolder | StoreFailure> {
  const { fs, path } = options;
  try {
    const stat = statIfAny(fs, path) ?? (await makeFolder(options));
    if (stat.type !== "folder") return unsafe(path, "is not a folder of its own (a link, perhaps)");
    const uid = process.getuid?.();
    if (uid !== undefined && stat.uid !== uid) return unsafe(path, "belongs to another user");
    if (uid !== undefined && (stat.mode & 0o077) !== 0) fs.chmod(path, 0o700);
    const realPath = fs.realpath(path);
    if (options.inside !== undefined && dirname(realPath) !== options.inside) {
      return unsafe(path, `leads out of ${options.inside}`);
    }
    return { status: "open", path: realPath };
  } catch (error) {
    return failureOf(error);
  }
}

interface PrivateFolderOptions {
  readonly fs: FileSystem;
  readonly path: string;
  readonly durable: boolean;
  /** The real path of the folder that must directly hold this one. */
  readonly inside?: string;
}

interface PrivateFolder {
  readonly status: "open";
  /** Without links. */
  readonly path: string;
}

async function makeFolder({ fs, path, durable }: PrivateFolderOptions): Promise<FileStat> {
  const first = fs.mkdir(path);
  const stat = fs.lstat(path);
  if (!durable || first === undefined) return stat;
  const top = dirname(first);
  for (let parent = dirname(path); parent.length >= top.length; parent = dirname(parent)) {
    await syncFolder(fs, parent);
    if (parent === dirname(parent)) break;
  }
  return stat;
}

function statIfAny(fs: FileSystem, path: string): FileStat | undefined {
  try {
    return fs.lstat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function unsafe(path: string, reason: string): StoreFailure {
  return { status: "failed", code: "UNSAFE_FOLDER", reason: `${path} ${reason}` };
}
