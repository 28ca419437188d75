import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  type Stats,
  unlink,
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { codeOf, errorWithCode } from "../../text/failure.ts";

/** The system calls of the file stores, as a port, so that a test can make any of them fail. All may throw an error with a `code`. */
export interface FileSystem {
  /** Does not follow a link; new files can be read by their owner only. */
  open(path: string, purpose: OpenPurpose): number;
  /** Goes on where the last read ended, unless a position is given. */
  read(fd: number, into: Uint8Array, position?: number): number;
  write(fd: number, bytes: Uint8Array): number;
  fstat(fd: number): FileStat;
  /** Asynchronous, since it is slow. */
  fsync(fd: number): Promise<void>;
  close(fd: number): void;
  lstat(path: string): FileStat;
  realpath(path: string): string;
  readdir(path: string): readonly string[];
  /** Creates a folder and its parents, accessible by their owner only; returns the first one created. */
  mkdir(path: string): string | undefined;
  chmod(path: string, mode: number): void;
  link(from: string, to: string): void;
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** An unlink that blocks nobody, for files with content: a disk may take milliseconds to free it. */
  remove(path: string): Promise<void>;
  /** Sets the modification time, which counts as the time of last use. */
  touch(path: string, timeMs: number): void;
}

type OpenPurpose = "read" | "create" | "append" | "folder";

export interface FileStat {
  readonly type: "file" | "folder" | "other";
  readonly sizeBytes: number;
  readonly mode: number;
  readonly uid: number;
  readonly modifiedMs: number;
}

/** The real file system. */
export const nodeFileSystem: FileSystem = {
  open: (path, purpose) => openSync(path, openFlags[purpose], 0o600),
  read: (fd, into, position) => readSync(fd, into, 0, into.byteLength, position ?? null),
  write: (fd, bytes) => writeSync(fd, bytes, 0, bytes.byteLength, null),
  fstat: (fd) => toFileStat(fstatSync(fd)),
  fsync: promisify(fsync),
  close: closeSync,
  lstat: (path) => toFileStat(lstatSync(path)),
  realpath: (path) => realpathSync.native(path),
  readdir: (path) => readdirSync(path),
  mkdir: (path) => mkdirSync(path, { recursive: true, mode: 0o700 }),
  chmod: chmodSync,
  link: linkSync,
  rename: renameSync,
  unlink: unlinkSync,
  remove: promisify(unlink),
  touch: (path, timeMs) => utimesSync(path, timeMs / 1000, timeMs / 1000),
};

// Some of these do not exist on Windows.
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 0 }: Partial<typeof constants> = constants;

const openFlags: Readonly<Record<OpenPurpose, number>> = {
  // Without O_NONBLOCK, opening a named pipe would block.
  read: constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
  create: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND | O_NOFOLLOW,
  append: constants.O_WRONLY | constants.O_APPEND | O_NOFOLLOW | O_NONBLOCK,
  folder: constants.O_RDONLY | O_DIRECTORY,
};

function toFileStat(stats: Stats): FileStat {
  return {
    type: stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other",
    sizeBytes: stats.size,
    mode: stats.mode & 0o1777,
    uid: stats.uid,
    modifiedMs: stats.mtimeMs,
  };
}

/** What programs of ours and tests set of every store of files. */
export interface FileStoreSettings {
  /** Whether what is written is flushed to disk, so that it survives a power cut; it is when unset. */
  readonly durable?: boolean;
  /** Replaces the file system, for tests. */
  readonly fs?: FileSystem;
  /** Replaces `Date.now`, for tests. */
  readonly now?: () => number;
}

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
    for (const name of options.names ?? fs.readdir(folder)) {
      if (!/^\.[0-9]+-[0-9a-f]{16}\.tmp$/.test(name)) continue;
      const path = join(folder, name);
      const modifiedMs = ifAny(() => fs.lstat(path))?.modifiedMs ?? nowMs;
      // One dated ahead is from before the clock was set back.
      if (Math.abs(nowMs - modifiedMs) > TEMPORARY_MAX_AGE_MS && removeQuietly(fs, path)) removed += 1;
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
  /** What is in the folder, where that is known. */
  readonly names?: readonly string[];
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

/** A function that yields to the event loop whenever 8 ms have passed since it last did: with one step more, nobody waits for 20. */
export function createPause(beforePause?: () => void): () => Promise<void> {
  let startedMs = performance.now();
  return async () => {
    if (performance.now() - startedMs < SLICE_MS) return;
    beforePause?.();
    await nextTurn();
    startedMs = performance.now();
  };
}

const SLICE_MS = 8;
