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

/** The calls the file stores make, so that a test can fail any one of them. All may throw an error with a `code`. */
export interface FileSystem {
  /** Never follows a link to a file; files are made for their owner only. */
  open(path: string, purpose: OpenPurpose): number;
  read(fd: number, into: Uint8Array): number;
  write(fd: number, bytes: Uint8Array): number;
  fstat(fd: number): FileStat;
  /** The only call that waits: a slow disk must not stop the program. */
  fsync(fd: number): Promise<void>;
  close(fd: number): void;
  lstat(path: string): FileStat;
  realpath(path: string): string;
  readdir(path: string): readonly string[];
  /** Makes the folder and its parents for their owner only; gives the first one that was made. */
  mkdir(path: string): string | undefined;
  chmod(path: string, mode: number): void;
  link(from: string, to: string): void;
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** Sets the time of last use. */
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
  // Without O_NONBLOCK, opening a named pipe would wait for ever.
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
