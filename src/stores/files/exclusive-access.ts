import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, failureOf, type StoreFailure } from "../../text/failure.ts";
import {
  type FileStat,
  type FileSystem,
  ifAny,
  linkIfFree,
  readWholeFileIfAny,
  removeQuietly,
  syncFolder,
  temporaryPath,
  writeNewFile,
} from "./file-system.ts";

/**
 * Makes sure that a folder exists, that only this user can access it, and that a power cut does not take it away with what is
 * put into it; a link or another owner is a failure.
 */
export async function openPrivateFolder(
  options: PrivateFolderOptions,
): Promise<PrivateFolder | StoreFailure> {
  const { fs, path, durable } = options;
  try {
    const stat = ifAny(() => fs.lstat(path)) ?? makeFolder(fs, path);
    if (stat.type !== "folder") return unsafe(path, "is not a folder of its own (a link, perhaps)");
    const uid = process.getuid?.();
    if (uid !== undefined && stat.uid !== uid) return unsafe(path, "belongs to another user");
    if (uid !== undefined && (stat.mode & 0o077) !== 0) {
      if (isShared(fs, path, stat.mode)) return unsafe(path, SHARED);
      fs.chmod(path, 0o700);
    }
    const realPath = fs.realpath(path);
    if (options.inside !== undefined && dirname(realPath) !== options.inside) {
      return unsafe(path, `leads out of ${options.inside}`);
    }
    if (durable) await flushName(fs, realPath);
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

function unsafe(path: string, reason: string): StoreFailure {
  return { status: "failed", code: "UNSAFE_FOLDER", reason: `${path} ${reason}` };
}

/** True for a folder that others may use: closing it would break what they do there. */
function isShared(fs: FileSystem, path: string, mode: number): boolean {
  if ((mode & STICKY) !== 0) return true;
  const names = fs.readdir(path);
  return (mode & 0o022) !== 0 ? names.length > 0 : !names.every((name) => OWN_NAMES.test(name));
}

const STICKY = 0o1000;
const SHARED = "is a folder that others use: name one for this store alone, or close it with chmod 700";

/** Outputs and their folders; records, logs, locks and what else lies beside them; unfinished files. */
const OWN_NAMES =
  /^(?:[0-9a-f]{2}|[0-9a-f]{64}(?:\.doomed)?|long|@?[\w-]+\.(?:json(?:\.bak|\.corrupt-\d+)?|\d+-\d+-\d+\.jsonl)|[@\w.-]+(?:\.lock|\.version|\.break)|\.\d+-[0-9a-f]{16}\.tmp)$/;

function makeFolder(fs: FileSystem, path: string): FileStat {
  const first = fs.mkdir(path);
  // It may have been there before, and removed.
  for (let made = path; made.length >= (first ?? path).length; made = dirname(made)) {
    flushedNames.get(fs)?.delete(made);
    if (dirname(made) === made) break;
  }
  return fs.lstat(path);
}

/**
 * Brings the name of a folder to the disk, and those of the folders above it that may have been made together with it. Done
 * once in each program, also for folders that were there: whoever made them may have been killed before it got so far.
 */
function flushName(fs: FileSystem, path: string): Promise<void> {
  const known = flushedNames.get(fs) ?? new Map<string, Promise<void>>();
  flushedNames.set(fs, known);
  const before = known.get(path);
  if (before !== undefined) return before;
  const flushing = flushNameNow(fs, path);
  known.set(path, flushing);
  flushing.catch(() => known.delete(path));
  return flushing;
}

async function flushNameNow(fs: FileSystem, path: string): Promise<void> {
  const parent = dirname(path);
  if (parent === path) return;
  try {
    await syncFolder(fs, parent);
  } catch (error) {
    // A folder that cannot even be listed is not one that we made something in.
    if (codeOf(error) !== "EACCES") throw error;
  }
  if (isLikeOurs(fs.lstat(parent))) await flushName(fs, parent);
}

/** The folders whose names this program has brought to the disk, or is about to. */
const flushedNames = new WeakMap<FileSystem, Map<string, Promise<void>>>();

/** True for a folder as we make them. */
function isLikeOurs({ mode, uid }: FileStat): boolean {
  return (mode & 0o777) === 0o700 && uid === process.getuid?.();
}

/** Runs a job under a lock file that excludes all processes of this machine. The lock of a process that has ended is broken, that of a running one never. */
export function withFileLock<Result>(
  lock: FileLock,
  job: (hold: LockHold) => Promise<Result>,
): Promise<Result | StoreFailure> {
  const turn = (queues.get(lock.path) ?? Promise.resolve()).then(() => runAlone(lock, job));
  const settled = turn.then(noop, noop);
  queues.set(lock.path, settled);
  void settled.then(() => {
    if (queues.get(lock.path) === settled) queues.delete(lock.path);
  });
  return turn;
}

interface FileLock {
  readonly fs: FileSystem;
  readonly path: string;
  /** How long to wait for the lock before failing with the code LOCKED. */
  readonly waitMs: number;
  readonly now: () => number;
}

/** What a job can do with the lock it runs under. */
export interface LockHold {
  /** Keeps the lock fresh during a long job. */
  readonly beat: () => void;
  /** False if another process took the lock because this one slept too long; it must not write any more. */
  readonly isOurs: () => boolean;
}

/** An owner whose state is unknown counts as gone after this long without a beat. */
export const LOCK_TIMEOUT_MS: number = 60_000;

// One token for the process and one queue for each path: a lock with our token is held by the current job.
const queues = new Map<string, Promise<void>>();
const processToken: string = randomBytes(8).toString("hex");
const noop = (): void => {};

async function runAlone<Result>(
  lock: FileLock,
  job: (hold: LockHold) => Promise<Result>,
): Promise<Result | StoreFailure> {
  const failure = await acquire(lock, performance.now() + lock.waitMs);
  if (failure) return failure;
  try {
    return await job({ beat: () => beat(lock), isOurs: () => readHolder(lock)?.token === processToken });
  } finally {
    release(lock);
  }
}

async function acquire(lock: FileLock, deadlineMs: number): Promise<StoreFailure | undefined> {
  const offer = temporaryPath(dirname(lock.path));
  try {
    // A hard link appears together with its content, so that no process sees a lock without an owner.
    const bytes = Buffer.from(JSON.stringify({ ...currentProcess(), token: processToken }));
    await writeNewFile({ fs: lock.fs, path: offer, bytes, durable: false });
    for (let attempt = 0; ; attempt += 1) {
      if (linkIfFree(lock.fs, offer, lock.path)) return undefined;
      const holder = readHolder(lock);
      // Left by a release of ours that failed.
      if (holder?.token === processToken) return undefined;
      if (holder && isOwnerGone(lock, holder)) {
        const failure = await breakLock(lock, deadlineMs);
        if (failure) return failure;
      } else if (performance.now() >= deadlineMs) {
        return { status: "failed", code: "LOCKED", reason: `process ${holder?.pid} holds ${lock.path}` };
      } else {
        await sleep(Math.random() * Math.min(16, 1 + attempt));
      }
    }
  } catch (error) {
    return failureOf(error);
  } finally {
    removeQuietly(lock.fs, offer);
  }
}

// To break a lock, a process must hold its `.break` lock and check the owner once more. A process that has ended does
// not release and only one process can break, so that the removed lock is the one that was checked.
async function breakLock(lock: FileLock, deadlineMs: number): Promise<StoreFailure | undefined> {
  const breaker = { ...lock, path: `${lock.path}.break` };
  const failure = await acquire(breaker, deadlineMs);
  if (failure) return failure;
  try {
    const holder = readHolder(lock);
    if (holder && isOwnerGone(lock, holder)) lock.fs.unlink(lock.path);
    return undefined;
  } finally {
    release(breaker);
  }
}

function release(lock: FileLock): void {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      if (readHolder(lock)?.token === processToken) lock.fs.unlink(lock.path);
      return;
    } catch {
      // The lock is adopted by our next job, or broken after this process has ended.
    }
  }
}

function beat({ fs, path, now }: FileLock): void {
  try {
    fs.touch(path, now());
  } catch {
    // A single missed beat does not matter.
  }
}

function isOwnerGone({ fs, path, now }: FileLock, holder: Holder): boolean {
  const state = processState(holder);
  if (state !== "unknown") return state === "gone";
  const stat = ifAny(() => fs.lstat(path));
  // One dated ahead is from before the clock was set back.
  return stat !== undefined && Math.abs(now() - stat.modifiedMs) > LOCK_TIMEOUT_MS;
}

interface Holder extends ProcessIdentity {
  readonly token: string;
}

function readHolder({ fs, path }: FileLock): Holder | undefined {
  const bytes = readWholeFileIfAny(fs, path);
  return bytes && parseHolder(Buffer.from(bytes).toString("utf8"));
}

function parseHolder(text: string): Holder {
  try {
    const { host, pid, start, token } = JSON.parse(text) as Partial<Record<string, unknown>>;
    if (
      typeof host === "string" &&
      typeof pid === "number" &&
      typeof start === "string" &&
      typeof token === "string"
    ) {
      return { host, pid, start, token };
    }
  } catch {
    // Truncated by a power failure.
  }
  return { host: "", pid: 0, start: "", token: "" };
}

/** Identifies a process even after its pid is reused: host, pid, and start time if the system tells it. */
export interface ProcessIdentity {
  /** The host name and, on Linux, the pid namespace. */
  readonly host: string;
  readonly pid: number;
  /** Empty if unknown. */
  readonly start: string;
}

/** The identity of this process. */
export function currentProcess(): ProcessIdentity {
  return processOf(process.pid);
}

/** The identity of a process of this machine that runs now. */
export function processOf(pid: number): ProcessIdentity {
  return { host: currentHost(), pid, start: startOf(pid) ?? "" };
}

/** Whether a process still runs; unknown on another machine, or if its start time is unknown. */
export function processState(identity: ProcessIdentity): "running" | "gone" | "unknown" {
  if (identity.host !== currentHost()) return "unknown";
  if (!Number.isSafeInteger(identity.pid) || identity.pid <= 0) return "unknown";
  if (!answersSignal(identity.pid)) return "gone";
  const start = startOf(identity.pid);
  if (identity.start === "" || start === undefined) return "unknown";
  return start === identity.start ? "running" : "gone";
}

function answersSignal(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function startOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The process name in parentheses may contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie: it has ended, but its parent has not waited for it yet.
  if (fields[0] === "Z") return "ended";
  // The start time counts from boot, so the boot is part of it.
  return `${readText("/proc/sys/kernel/random/boot_id")?.trim()}/${fields[19]}`;
}

// The pid namespace is part of the host: containers may share a host name, but not pids.
function currentHost(): string {
  cachedHost ??= `${hostname()}/${readLinkText("/proc/self/ns/pid")}`;
  return cachedHost;
}

let cachedHost: string | undefined;

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function readLinkText(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
