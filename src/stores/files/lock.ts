import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, failureOf, type StoreFailure } from "../store-failure.ts";
import type { FileSystem } from "./file-system.ts";
import { readWholeFileIfAny, removeQuietly, temporaryPath, writeNewFile } from "./whole-file.ts";

/** Runs the job while nobody else holds the lock file, in any process of this machine; a dead owner's lock is broken, a running one's never. */
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
  /** After this long the result is a failure with the code LOCKED. */
  readonly waitMs: number;
  readonly now: () => number;
}

export interface LockHold {
  /** Shows that a long job is still alive. */
  readonly beat: () => void;
  /** False when the job slept so long that another took the lock: it must not write any more. */
  readonly isOurs: () => boolean;
}

/** After this long without a beat, an owner of which the system can tell nothing counts as gone. */
export const LOCK_TIMEOUT_MS: number = 60_000;

// One token and one queue a path for the whole process: a lock with our token is then held by the present job.
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
    // A link appears together with its content, so nobody ever sees a lock without an owner.
    const bytes = Buffer.from(JSON.stringify({ ...currentProcess(), token: processToken }));
    await writeNewFile({ fs: lock.fs, path: offer, bytes, durable: false });
    for (let attempt = 0; ; attempt += 1) {
      if (isLinked(lock, offer)) return undefined;
      const holder = readHolder(lock);
      // Left from a release that failed: adopt it.
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

// Whoever removes another's lock must hold that lock's own `.break` lock and find the owner still gone:
// the dead do not release and no second breaker is at work, so what is removed is what was judged.
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

function isLinked({ fs, path }: FileLock, offer: string): boolean {
  try {
    fs.link(offer, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function release(lock: FileLock): void {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      if (readHolder(lock)?.token === processToken) lock.fs.unlink(lock.path);
      return;
    } catch {
      // What stays is adopted by our next job here, or broken once this process is gone.
    }
  }
}

function beat({ fs, path, now }: FileLock): void {
  try {
    fs.touch(path, now());
  } catch {
    // Only a minute without any beat matters.
  }
}

function isOwnerGone({ fs, path, now }: FileLock, holder: Holder): boolean {
  const state = processState(holder);
  if (state !== "unknown") return state === "gone";
  try {
    return now() - fs.lstat(path).modifiedMs > LOCK_TIMEOUT_MS;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
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
    // Cut short by a power failure.
  }
  return { host: "", pid: 0, start: "", token: "" };
}

/** Names one process beyond the life of its number: where it runs, its pid, and when it started if the system tells. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** Empty where the system does not tell. */
  readonly start: string;
}

/** The identity of this process. */
export function currentProcess(): ProcessIdentity {
  return { host: currentHost(), pid: process.pid, start: startOf(process.pid) ?? "" };
}

/** Whether that process still runs; unknown for another machine, and for a pid whose start the system does not tell. */
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
  // The name in parentheses may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A killed process whose parent has not looked yet still has its number.
  if (fields[0] === "Z") return "ended";
  // Ticks since boot, so two boots must be told apart.
  return `${readText("/proc/sys/kernel/random/boot_id")?.trim()}/${fields[19]}`;
}

// Containers may share a folder and a host name, but number their processes apart.
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
