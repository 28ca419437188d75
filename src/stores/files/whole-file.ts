import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { codeOf, errorWithCode, failureOf, type StoreFailure } from "../store-failure.ts";
import type { FileStat, FileSystem } from "./file-system.ts";

/** Reads a regular file; throws with the system's code, or with UNSAFE_FILE for anything else than a regular file. */
export function readWholeFile(fs: FileSystem, path: string): Uint8Array {
  const { fd, sizeBytes } = openRegularFile(fs, path);
  try {
    // One byte more than the size, to notice that the file has grown.
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

/** Like `readWholeFile`, but undefined if the file does not exist. */
export function readWholeFileIfAny(fs: FileSystem, path: string): Uint8Array | undefined {
  return ifAny(() => readWholeFile(fs, path));
}

/** What a system call gives, or undefined if the file does not exist. */
export function ifAny<Result>(call: () => Result): Result | undefined {
  try {
    return call();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Creates a file, flushed to disk if `durable`; removes it again when writing fails. */
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

/** Writes until all bytes are written. */
export function writeAll({ fs, fd, bytes }: OpenWrite): void {
  for (let written = 0; written < bytes.byteLength; ) {
    const count = fs.write(fd, bytes.subarray(written));
    if (count === 0) throw errorWithCode("EIO", "the system takes no more bytes");
    written += count;
  }
}

interface OpenWrite {
  readonly fs: FileSystem;
  readonly fd: number;
  readonly bytes: Uint8Array;
}

/** Flushes a folder's entries to disk, where the system supports it. */
export async function syncFolder(fs: FileSystem, path: string): Promise<void> {
  if (process.platform === "win32") return;
  const fd = fs.open(path, "folder");
  try {
    await fs.fsync(fd);
  } catch (error) {
    // Not supported by some file systems.
    if (codeOf(error) !== "EINVAL") throw error;
  } finally {
    fs.close(fd);
  }
}

/** A unique name for a temporary file in this folder. */
export function temporaryPath(folder: string): string {
  return join(folder, `.${process.pid}-${randomBytes(8).toString("hex")}.tmp`);
}

/** Removes temporary files that are too old to be still in use; returns their number. */
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
    // Tried again at the next start.
  }
  return removed;
}

/** No write takes so long: an older temporary file was left by a killed process. */
export const TEMPORARY_MAX_AGE_MS: number = 3_600_000;

interface OldTemporaries {
  readonly fs: FileSystem;
  readonly folder: string;
  readonly nowMs: number;
}

/** Removes a file and ignores errors; true if it was removed. */
export function removeQuietly(fs: FileSystem, path: string): boolean {
  try {
    fs.unlink(path);
    return true;
  } catch {
    return false;
  }
}

/** Removes a file if it exists. */
export function removeIfAny(fs: FileSystem, path: string): void {
  ifAny(() => fs.unlink(path));
}

/** Gives a file a second name; false if that name is taken. */
export function linkIfFree(fs: FileSystem, from: string, to: string): boolean {
  try {
    fs.link(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Opens a regular file for reading; the caller closes it. */
export function openRegularFile(
  fs: FileSystem,
  path: string,
): { readonly fd: number; readonly sizeBytes: number } {
  const fd = fs.open(path, "read");
  try {
    const { type, sizeBytes } = fs.fstat(fd);
    if (type === "file") return { fd, sizeBytes };
    throw errorWithCode("UNSAFE_FILE", `${path} is not a regular file`);
  } catch (error) {
    fs.close(fd);
    throw error;
  }
}

function modifiedMsOf(fs: FileSystem, path: string): number {
  try {
    return fs.lstat(path).modifiedMs;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Makes sure that a folder exists and only this user can access it; a link or another owner is a failure. */
export async function openPrivateFolder(
  options: PrivateFolderOptions,
): Promise<PrivateFolder | StoreFailure> {
  const { fs, path } = options;
  try {
    const stat = ifAny(() => fs.lstat(path)) ?? (await makeFolder(options));
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
  /** The real path that the folder's parent must have. */
  readonly inside?: string;
}

interface PrivateFolder {
  readonly status: "open";
  /** With links resolved. */
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

function unsafe(path: string, reason: string): StoreFailure {
  return { status: "failed", code: "UNSAFE_FOLDER", reason: `${path} ${reason}` };
}
