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
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";

/** The system calls of the file stores, as a port, so that a test can make any of them fail. All may throw an error with a `code`. */
export interface FileSystem {
  /** Does not follow a link; new files can be read by their owner only. */
  open(path: string, purpose: OpenPurpose): number;
  read(fd: number, into: Uint8Array): number;
  write(fd: number, bytes: Uint8Array): number;
  fstat(fd: number): FileStat;
  /** The only asynchronous call, since it is slow. */
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
  read: (fd, into) => readSync(fd, into, 0, into.byteLength, null),
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
    mode: stats.mode & 0o777,
    uid: stats.uid,
    modifiedMs: stats.mtimeMs,
  };
}
