import { dirname, join, resolve } from "node:path";
import { codeOf, failureOf, type StoreFailure } from "../../text/failure.ts";
import {
  createPause,
  type FileStat,
  type FileStoreSettings,
  type FileSystem,
  linkIfFree,
  nodeFileSystem,
  removeOldTemporaries,
  syncFolder,
} from "./file-system.ts";
import { withFileLock } from "./lock.ts";
import { openPrivateFolder } from "./private-folder.ts";

/** Removes saved outputs that are too old or too many, least recently used first, but never a live or a recent one. */
export async function cleanOutputs(options: CleanOutputsSettings): Promise<CleanReport | StoreFailure> {
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
export interface StoredOutputLimits {
  /** How long an output is kept after its last use. */
  readonly maxAgeMs?: number;
  /** How much is kept in all. */
  readonly maxBytes?: number;
  /** How many files are kept: 10,000 when unset. */
  readonly maxFiles?: number;
  /** Files used more recently are always kept, since their reference may not be stored yet: 1 minute when unset. */
  readonly minAgeMs?: number;
  /** The handles that sessions still refer to, which are always kept. */
  readonly live?: () => ReadonlySet<string> | Promise<ReadonlySet<string>>;
}

/** Which saved outputs are removed. */
export interface CleanOutputsSettings extends StoredOutputLimits, Omit<FileStoreSettings, "durable"> {
  /** The folder of the output store. */
  readonly root: string;
}

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

/** How long and how much is kept where nothing is said. */
export const FILE_OUTPUT_LIMITS: Required<Pick<StoredOutputLimits, "maxAgeMs" | "maxBytes">> = {
  maxAgeMs: 7 * 86_400_000,
  maxBytes: 2 ** 30,
};

async function clean(job: CleanJob): Promise<CleanReport> {
  const problems: StoreFailure[] = [];
  const removedTemporaries = removeOldTemporaries({ fs: job.fs, folder: job.root, nowMs: job.now() });
  const files = await findStoredOutputs(job, problems);
  let keptFiles = files.length;
  let keptBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  const found = { files: keptFiles, bytes: keptBytes };
  const { maxAgeMs = FILE_OUTPUT_LIMITS.maxAgeMs, maxBytes = FILE_OUTPUT_LIMITS.maxBytes } = job;
  const { maxFiles = 10_000, minAgeMs = 60_000 } = job;
  const pause = createPause(job.beat);
  const removals = new Set<Promise<void>>();
  for (const file of await byLastUse(files, pause)) {
    await pause();
    const ageMs = job.now() - file.modifiedMs;
    const isExcess = ageMs > maxAgeMs || keptBytes > maxBytes || keptFiles > maxFiles;
    // A file dated ahead is from before the clock was set back, and not from the last minute.
    if (!isExcess || Math.abs(ageMs) < minAgeMs || job.isLive(file.handle)) {
      // It grows old from now on, and not when the clock has come to its date.
      const datedMs = job.now() - minAgeMs;
      if (ageMs < -minAgeMs) await tryCollecting(() => job.fs.touch(file.path, datedMs), problems);
      continue;
    }
    keptFiles -= 1;
    keptBytes -= file.sizeBytes;
    const removal = tryCollecting(() => removeUnlessUsed(job.fs, file), problems).then((isRemoved) => {
      removals.delete(removal);
      if (isRemoved) return;
      keptFiles += 1;
      keptBytes += file.sizeBytes;
    });
    removals.add(removal);
    if (removals.size >= REMOVED_AT_ONCE) await Promise.race(removals);
  }
  await Promise.all(removals);
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

interface CleanJob extends StoredOutputLimits {
  readonly fs: FileSystem;
  readonly now: () => number;
  readonly root: string;
  readonly isLive: (handle: string) => boolean;
  readonly beat: () => void;
}

interface StoredOutput extends FileStat {
  readonly handle: string;
  readonly path: string;
}

async function findStoredOutputs(job: CleanJob, problems: StoreFailure[]): Promise<StoredOutput[]> {
  const { fs, root } = job;
  const pause = createPause(job.beat);
  const files: StoredOutput[] = [];
  for (const shardName of fs.readdir(root)) {
    const shard = join(root, shardName);
    if (!/^[0-9a-f]{2}$/.test(shardName)) continue;
    for (const name of (await tryCollecting(() => namesOfRealFolder(fs, shard), problems)) ?? []) {
      await pause();
      const handle = name.slice(0, 64);
      const path = join(shard, handle);
      if (!isSha256(handle)) continue;
      const isMoved = join(shard, name) === pendingDeletePath(path);
      // Left by a cleaning that was killed; the same content may have been put since.
      if (isMoved && !(await tryCollecting(() => restore(fs, path), problems))) continue;
      if (!isMoved && name !== handle) continue;
      const stat = await tryCollecting(() => fs.lstat(path), problems);
      if (stat?.type === "file") files.push({ ...stat, handle, path });
    }
  }
  return files;
}

/** Sorted in pieces that are merged, since sorting a hundred thousand at once would block. */
async function byLastUse(
  files: readonly StoredOutput[],
  pause: () => Promise<void>,
): Promise<readonly StoredOutput[]> {
  if (files.length <= SORTED_AT_ONCE) return files.toSorted((a, b) => a.modifiedMs - b.modifiedMs);
  const half = files.length >> 1;
  const [first, second] = [
    await byLastUse(files.slice(0, half), pause),
    await byLastUse(files.slice(half), pause),
  ];
  await pause();
  const merged: StoredOutput[] = [];
  for (let left = 0, right = 0; merged.length < files.length; ) {
    const [one, other] = [first[left], second[right]];
    if (one !== undefined && (other === undefined || one.modifiedMs <= other.modifiedMs)) {
      merged.push(one);
      left += 1;
    } else if (other !== undefined) {
      merged.push(other);
      right += 1;
    }
  }
  return merged;
}

const SORTED_AT_ONCE = 2_000;
/** One after the other took 20 times as long, on a disk that frees blocks at once. */
const REMOVED_AT_ONCE = 16;

function namesOfRealFolder(fs: FileSystem, path: string): readonly string[] {
  return fs.lstat(path).type === "folder" && fs.realpath(path) === path ? fs.readdir(path) : [];
}

// A concurrent put or get changes the modification time, so it is checked again after the file was moved away.
async function removeUnlessUsed(fs: FileSystem, file: StoredOutput): Promise<boolean> {
  const moved = pendingDeletePath(file.path);
  fs.rename(file.path, moved);
  if (fs.lstat(moved).modifiedMs !== file.modifiedMs) {
    await restore(fs, file.path);
    return false;
  }
  await fs.remove(moved);
  return true;
}

// False if the same content was written again in the meantime.
async function restore(fs: FileSystem, path: string): Promise<boolean> {
  const isBack = linkIfFree(fs, pendingDeletePath(path), path);
  // A disk may forget the new name and not the removal of the old one.
  await syncFolder(fs, dirname(path));
  fs.unlink(pendingDeletePath(path));
  return isBack;
}

async function tryCollecting<Result>(
  act: () => Result | Promise<Result>,
  problems: StoreFailure[],
): Promise<Result | undefined> {
  try {
    return await act();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") problems.push(failureOf(error));
    return undefined;
  }
}

/** Where cleaning moves a file before it deletes it. */
export function pendingDeletePath(path: string): string {
  return `${path}.doomed`;
}

/** True for a SHA-256 in hex, which is the name and the handle of a stored output. */
export function isSha256(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}
