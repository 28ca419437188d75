import { join, resolve } from "node:path";
import { withFileLock } from "./file-lock.ts";
import { type FileStat, type FileSystem, nodeFileSystem } from "./file-system.ts";
import { createPause, SLICE_MS } from "./pause.ts";
import { openPrivateFolder } from "./private-folder.ts";
import { doomedPath, isSha256 } from "./spill-file.ts";
import { codeOf, failureOf, type StoreFailure } from "./store-failure.ts";
import { removeOldTemporaries } from "./whole-file.ts";

/** Removes spilled files that are too old or too many, least recently used first, in short slices and never a live or a young one. */
export async function cleanSpills(options: CleanSpillsOptions): Promise<CleanReport | StoreFailure> {
  const { fs = nodeFileSystem, now = Date.now } = options;
  const folder = await openPrivateFolder({ fs, path: resolve(options.root), durable: false });
  if (folder.status === "failed") return folder;
  // Someone else at it is as good as doing it: no waiting.
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

/** How much may be kept. */
export interface SpillLimits {
  /** Since last use; default 7 days. */
  readonly maxAgeMs?: number;
  /** Default 1 GiB. */
  readonly maxBytes?: number;
  /** Default 10,000. */
  readonly maxFiles?: number;
  /** Files used more recently are kept whatever the limits, since their reference may not be stored yet; default 1 minute. */
  readonly minAgeMs?: number;
  /** The handles that sessions still refer to, which are kept whatever the limits. */
  readonly live?: () => ReadonlySet<string> | Promise<ReadonlySet<string>>;
}

export interface CleanSpillsOptions extends SpillLimits {
  readonly root: string;
  readonly fs?: FileSystem;
  readonly now?: () => number;
}

/** What a cleaning did; a problem with one file does not stop it. */
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
  const pause = createPause(SLICE_MS, job.beat);
  for (const file of files.sort((a, b) => a.modifiedMs - b.modifiedMs)) {
    await pause();
    const ageMs = job.now() - file.modifiedMs;
    const isExcess = ageMs > maxAgeMs || keptBytes > maxBytes || keptFiles > maxFiles;
    if (!isExcess || ageMs < minAgeMs || job.isLive(file.handle)) continue;
    if (!tried(() => removeUnlessUsed(job.fs, file), problems)) continue;
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
  const pause = createPause(SLICE_MS, job.beat);
  const files: SpillFile[] = [];
  for (const shardName of fs.readdir(root)) {
    const shard = join(root, shardName);
    if (!/^[0-9a-f]{2}$/.test(shardName)) continue;
    for (const name of tried(() => namesOfRealFolder(fs, shard), problems) ?? []) {
      await pause();
      const handle = name.slice(0, 64);
      const path = join(shard, handle);
      if (!isSha256(handle)) continue;
      const isDoomed = join(shard, name) === doomedPath(path);
      // Left by a cleaning that died before it looked again: the file may have been put meanwhile.
      if (isDoomed && !tried(() => restore(fs, path), problems)) continue;
      const stat = isDoomed || name === handle ? tried(() => fs.lstat(path), problems) : undefined;
      if (stat?.type === "file") files.push({ ...stat, handle, path });
    }
  }
  return files;
}

function namesOfRealFolder(fs: FileSystem, path: string): readonly string[] {
  return fs.lstat(path).type === "folder" && fs.realpath(path) === path ? fs.readdir(path) : [];
}

// A put replaces the file and a get touches it, and both rely on it: look again once it is out of their sight.
function removeUnlessUsed(fs: FileSystem, file: SpillFile): boolean {
  const doomed = doomedPath(file.path);
  fs.rename(file.path, doomed);
  if (fs.lstat(doomed).modifiedMs !== file.modifiedMs) {
    restore(fs, file.path);
    return false;
  }
  fs.unlink(doomed);
  return true;
}

// False when the same content was written again meanwhile.
function restore(fs: FileSystem, path: string): boolean {
  let isBack = true;
  try {
    fs.link(doomedPath(path), path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    isBack = false;
  }
  fs.unlink(doomedPath(path));
  return isBack;
}

function tried<Result>(act: () => Result, problems: StoreFailure[]): Result | undefined {
  try {
    return act();
  } catch (error) {
    // A file that is gone needs no cleaning.
    if (codeOf(error) !== "ENOENT") problems.push(failureOf(error));
    return undefined;
  }
}
