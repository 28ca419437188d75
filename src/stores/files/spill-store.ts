import { createHash } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import {
  callback,
  check,
  flag,
  limitFrom,
  oneOf,
  required,
  rule,
  type Shape,
  text,
  throwProblems,
} from "../../text/check.ts";
import { codeOf, failureOf, isObject, type StoreFailure } from "../../text/json.ts";
import type { SpillFailure, SpillRef, SpillStore } from "../../tool-output/spill.ts";
import {
  byteChunks,
  CHUNK_BYTES,
  createPause,
  defaultStateFolder,
  type FileStat,
  type FileSystem,
  ifAny,
  linkIfFree,
  nodeFileSystem,
  openPrivateFolder,
  openRegularFile,
  removeOldTemporaries,
  removeQuietly,
  syncFolder,
  temporaryPath,
  writeAll,
} from "./file-system.ts";
import { withFileLock } from "./lock.ts";

/** A spill store of files that are named by the hash of their content and readable by their owner only. Removes old files by itself. */
export function createFileSpillStore(options: FileSpillStoreOptions = {}): SpillStore {
  throwProblems(check(SPILL_STORE_SHAPE, options));
  const { fs = nodeFileSystem, durable = true, now = Date.now, cleaning = "hourly" } = options;
  const root = resolve(options.root ?? join(defaultStateFolder(), "spill"));
  let hasStarted = false;
  let cleanedMs = Number.NEGATIVE_INFINITY;

  async function put(content: string | Uint8Array): Promise<SpillRef | SpillFailure> {
    const folder = await openPrivateFolder({ fs, path: root, durable });
    if (folder.status === "failed") return folder;
    if (!hasStarted) removeOldTemporaries({ fs, folder: folder.path, nowMs: now() });
    hasStarted = true;
    const temporary = temporaryPath(folder.path);
    const outcome = await putThrough(temporary, content).catch(failureOf);
    if (outcome.status === "failed") removeQuietly(fs, temporary);
    return outcome;
  }

  async function putThrough(
    temporary: string,
    content: string | Uint8Array,
  ): Promise<SpillRef | StoreFailure> {
    const { sha256, bytes } = await writeHashed(temporary, content);
    const realRoot = dirname(temporary);
    const path = spillPath(realRoot, sha256);
    const shard = await openPrivateFolder({ fs, path: dirname(path), durable, inside: realRoot });
    if (shard.status === "failed") return shard;
    // Replaces an existing file, which may be damaged, and so marks it as used.
    fs.rename(temporary, path);
    if (durable) await syncFolder(fs, shard.path);
    return { status: "stored", handle: sha256, sha256, bytes, path };
  }

  async function writeHashed(path: string, content: string | Uint8Array) {
    const pause = createPause();
    const hash = createHash("sha256");
    const fd = fs.open(path, "create");
    try {
      let bytes = 0;
      for (const chunk of byteChunks(content)) {
        writeAll({ fs, fd, bytes: chunk });
        hash.update(chunk);
        bytes += chunk.byteLength;
        await pause();
      }
      if (durable) await fs.fsync(fd);
      return { sha256: hash.digest("hex"), bytes };
    } finally {
      fs.close(fd);
    }
  }

  async function readText(path: string, sha256: string): Promise<string | StoreFailure | undefined> {
    try {
      const content = await readSpillFile(fs, path);
      if (content.sha256 !== sha256) return DAMAGED;
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(content.bytes);
    } catch (error) {
      return codeOf(error) === "ENOENT" ? undefined : failureOf(error);
    }
  }

  function cleanWhenDue(): void {
    // A clock that was set back must not put the next cleaning off.
    if (cleaning === "never" || Math.abs(now() - cleanedMs) < CLEANING_INTERVAL_MS) return;
    cleanedMs = now();
    void removeOldSpills({ ...options, root, fs, now })
      .then(options.onCleaned)
      .catch(() => {});
  }

  return {
    async put(content) {
      const outcome = await put(content);
      cleanWhenDue();
      return outcome;
    },
    async get(handle) {
      if (!isSha256(handle)) return undefined;
      const folder = await openPrivateFolder({ fs, path: root, durable });
      if (folder.status === "failed") return folder;
      const path = spillPath(folder.path, handle);
      const text = await readText(path, handle);
      try {
        if (typeof text === "string") fs.touch(path, now());
      } catch {
        // Only affects the order of cleaning.
      }
      if (typeof text === "string") return text;
      const moved = await readText(pendingDeletePath(path), handle);
      return typeof moved === "string" ? moved : (text ?? moved);
    },
  };
}

/** Where and how spills are stored, and when old ones are removed. */
export interface FileSpillStoreOptions extends SpillLimits {
  /** Default: `spill` in the state folder. @default spill in the state folder */
  readonly root?: string;
  /** Flush each file to disk, so that it survives a power cut. @default true */
  readonly durable?: boolean;
  /** `hourly`: with the first put, then at most once an hour. @default hourly */
  readonly cleaning?: "hourly" | "never";
  /** Called after each cleaning. @default none */
  readonly onCleaned?: (report: CleanReport | StoreFailure) => void;
  /** Replaces the file system, for tests. @default node's */
  readonly fs?: FileSystem;
  /** Replaces `Date.now`, for tests. @default Date.now */
  readonly now?: () => number;
}

const CLEANING_INTERVAL_MS = 3_600_000;

/** A copy whose hash is another than its name; a put of the same content replaces it. */
export const DAMAGED: StoreFailure = {
  status: "failed",
  code: "DAMAGED",
  reason: "the stored copy is damaged",
};

/** The path of the file with this hash. */
export function spillPath(root: string, sha256: string): string {
  return join(root, sha256.slice(0, 2), sha256);
}

/** Where cleaning moves a file before it deletes it. */
function pendingDeletePath(path: string): string {
  return `${path}.doomed`;
}

/** True for a SHA-256 in hex, which is the name and the handle of a spill. */
export function isSha256(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

/** Reads a spilled file and hashes it, in chunks so that the event loop is not blocked; throws with the system's code. */
export async function readSpillFile(fs: FileSystem, path: string): Promise<SpillContent> {
  const pause = createPause();
  const { fd, sizeBytes } = openRegularFile(fs, path);
  try {
    const hash = createHash("sha256");
    const bytes = Buffer.allocUnsafe(sizeBytes);
    let filled = 0;
    while (filled < sizeBytes) {
      const count = fs.read(fd, bytes.subarray(filled, filled + CHUNK_BYTES));
      if (count === 0) break;
      hash.update(bytes.subarray(filled, filled + count));
      filled += count;
      await pause();
    }
    return { sha256: hash.digest("hex"), bytes: bytes.subarray(0, filled) };
  } finally {
    fs.close(fd);
  }
}

interface SpillContent {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** Removes spilled files that are too old or too many, least recently used first, but never a live or a recent one. */
export async function cleanSpills(options: CleanSpillsOptions): Promise<CleanReport | StoreFailure> {
  throwProblems(check(CLEAN_SHAPE, options ?? {}));
  return removeOldSpills(options);
}

async function removeOldSpills(options: CleanSpillsOptions): Promise<CleanReport | StoreFailure> {
  const { fs = nodeFileSystem, now = Date.now } = options;
  const folder = await openPrivateFolder({ fs, path: resolve(options.root), durable: false });
  if (folder.status === "failed") return folder;
  // Does not wait: if the lock is held, another process is cleaning.
  return withFileLock({ fs, path: join(folder.path, "clean.lock"), waitMs: 0, now }, async ({ beat }) => {
    try {
      const live = (await options.live?.()) ?? new Set<string>();
      return await clean({
        ...options,
        fs,
        now,
        root: folder.path,
        isLive: (handle) => live.has(handle),
        beat,
      });
    } catch (error) {
      return failureOf(error);
    }
  });
}

/** How much is kept. */
export interface SpillLimits {
  /** How long an output is kept after its last use. @default 7 days */
  readonly maxAgeMs?: number;
  /** How much is kept in all. @default 1 GiB */
  readonly maxBytes?: number;
  /** How many files are kept. @default 10,000 */
  readonly maxFiles?: number;
  /** Files used more recently are always kept, since their reference may not be stored yet. @default 1 minute */
  readonly minAgeMs?: number;
  /** The handles that sessions still refer to, which are always kept. @default none */
  readonly live?: () => ReadonlySet<string> | Promise<ReadonlySet<string>>;
}

/** Which spills are removed. */
export interface CleanSpillsOptions extends SpillLimits {
  /** The folder of the spill store. */
  readonly root: string;
  /** Replaces the file system, for tests. */
  readonly fs?: FileSystem;
  /** Replaces `Date.now`, for tests. */
  readonly now?: () => number;
}

/** What every store of files takes. */
export const FILE_STORE_SHAPE: Shape<FileStoreOptions> = {
  root: required(text),
  durable: flag,
  fs: rule("a file system like node's", isObject),
  now: callback,
};

type FileStoreOptions = Pick<FileSpillStoreOptions, "root" | "durable" | "fs" | "now">;

const SPILL_LIMITS_SHAPE: Shape<SpillLimits> = {
  maxAgeMs: limitFrom(0),
  maxBytes: limitFrom(0),
  maxFiles: limitFrom(0),
  minAgeMs: limitFrom(0),
  live: callback,
};

const SPILL_STORE_SHAPE: Shape<FileSpillStoreOptions> = {
  ...SPILL_LIMITS_SHAPE,
  ...FILE_STORE_SHAPE,
  root: text,
  cleaning: oneOf("hourly", "never"),
  onCleaned: callback,
};

const { durable: _, ...CLEAN_SHAPE } = { ...SPILL_LIMITS_SHAPE, ...FILE_STORE_SHAPE };

/** The outcome of a cleaning; a problem with one file does not stop it. */
export interface CleanReport {
  readonly status: "cleaned";
  readonly removedFiles: number;
  readonly removedBytes: number;
  readonly keptFiles: number;
  readonly keptBytes: number;
  readonly removedTemporaries: number;
  readonly problems: readonly StoreFailure[];
}

async function clean(job: CleanJob): Promise<CleanReport> {
  const problems: StoreFailure[] = [];
  const removedTemporaries = removeOldTemporaries({ fs: job.fs, folder: job.root, nowMs: job.now() });
  const files = await findSpills(job, problems);
  let keptFiles = files.length;
  let keptBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  const found = { files: keptFiles, bytes: keptBytes };
  const { maxAgeMs = 7 * 86_400_000, maxBytes = 2 ** 30, maxFiles = 10_000, minAgeMs = 60_000 } = job;
  const pause = createPause(job.beat);
  for (const file of files.sort((a, b) => a.modifiedMs - b.modifiedMs)) {
    await pause();
    const ageMs = job.now() - file.modifiedMs;
    const isExcess = ageMs > maxAgeMs || keptBytes > maxBytes || keptFiles > maxFiles;
    // A file dated ahead is from before the clock was set back, and not from the last minute.
    if (!isExcess || Math.abs(ageMs) < minAgeMs || job.isLive(file.handle)) continue;
    if (!tryCollecting(() => removeUnlessUsed(job.fs, file), problems)) continue;
    keptFiles -= 1;
    keptBytes -= file.sizeBytes;
  }
  return {
    status: "cleaned",
    removedFiles: found.files - keptFiles,
    removedBytes: found.bytes - keptBytes,
    keptFiles,
    keptBytes,
    removedTemporaries,
    problems,
  };
}

interface CleanJob extends SpillLimits {
  readonly fs: FileSystem;
  readonly now: () => number;
  readonly root: string;
  readonly isLive: (handle: string) => boolean;
  readonly beat: () => void;
}

interface SpillFile extends FileStat {
  readonly handle: string;
  readonly path: string;
}

async function findSpills(job: CleanJob, problems: StoreFailure[]): Promise<SpillFile[]> {
  const { fs, root } = job;
  const pause = createPause(job.beat);
  const files: SpillFile[] = [];
  for (const shardName of fs.readdir(root)) {
    const shard = join(root, shardName);
    if (!/^[0-9a-f]{2}$/.test(shardName)) continue;
    for (const name of tryCollecting(() => namesOfRealFolder(fs, shard), problems) ?? []) {
      await pause();
      const handle = name.slice(0, 64);
      const path = join(shard, handle);
      if (!isSha256(handle)) continue;
      const isMoved = join(shard, name) === pendingDeletePath(path);
      // Left by a cleaning that was killed; the same content may have been put since.
      if (isMoved && !tryCollecting(() => restore(fs, path), problems)) continue;
      const stat = isMoved || name === handle ? tryCollecting(() => fs.lstat(path), problems) : undefined;
      if (stat?.type === "file") files.push({ ...stat, handle, path });
    }
  }
  return files;
}

function namesOfRealFolder(fs: FileSystem, path: string): readonly string[] {
  return fs.lstat(path).type === "folder" && fs.realpath(path) === path ? fs.readdir(path) : [];
}

// A concurrent put or get changes the modification time, so it is checked again after the file was moved away.
function removeUnlessUsed(fs: FileSystem, file: SpillFile): boolean {
  const moved = pendingDeletePath(file.path);
  fs.rename(file.path, moved);
  if (fs.lstat(moved).modifiedMs !== file.modifiedMs) {
    restore(fs, file.path);
    return false;
  }
  fs.unlink(moved);
  return true;
}

// False if the same content was written again in the meantime.
function restore(fs: FileSystem, path: string): boolean {
  const isBack = linkIfFree(fs, pendingDeletePath(path), path);
  fs.unlink(pendingDeletePath(path));
  return isBack;
}

function tryCollecting<Result>(act: () => Result, problems: StoreFailure[]): Result | undefined {
  try {
    return ifAny(act);
  } catch (error) {
    problems.push(failureOf(error));
    return undefined;
  }
}
