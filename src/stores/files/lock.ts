import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { failureOf, type StoreFailure } from "../../text/failure.ts";
import {
  type FileSystem,
  ifAny,
  linkIfFree,
  readWholeFileIfAny,
  removeQuietly,
  temporaryPath,
  writeNewFile,
} from "./file-system.ts";
import { currentProcess, type ProcessIdentity, processState } from "./process-identity.ts";

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
