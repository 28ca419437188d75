import { join, resolve } from "node:path";
import type {
  RecordConflict,
  RecordCorrupt,
  RecordFailure,
  RecordFound,
  RecordList,
  RecordMissing,
  RecordProblem,
  RecordStore,
  RecordWrite,
} from "../../fork/life/record-store.ts";
import { errorWithCode, failureOf, toJson } from "../../text/failure.ts";
import {
  createPause,
  type FileStoreSettings,
  type FileSystem,
  ifAny,
  nodeFileSystem,
  readWholeFile,
  readWholeFileIfAny,
  removeIfAny,
  removeOldTemporaries,
  removeQuietly,
  syncFolder,
  temporaryPath,
  writeNewFile,
} from "./file-system.ts";
import { type LockHold, withFileLock } from "./lock.ts";
import { idOfPathName, pathName } from "./path-name.ts";
import { openPrivateFolder } from "./private-folder.ts";
import { openSealedLine, sealLine } from "./sealed-line.ts";

/** A record store with a file for each record, replaced atomically under a lock; the previous copy is kept as a backup. */
export function createFileRecordStore(options: FileRecordStoreSettings): RecordStore {
  const { fs = nodeFileSystem, durable = true, now = Date.now } = options;
  const root = resolve(options.root);

  async function open() {
    const folder = await openPrivateFolder({ fs, path: root, durable });
    if (folder.status === "failed") return folder;
    const copiesOf = (name: string): RecordCopies =>
      recordCopies({ fs, durable, now, folder: folder.path, name });
    return { status: "open" as const, folder: folder.path, copiesOf };
  }

  // A damaged or missing current copy may be the work of another process, so it is read again under the lock.
  async function read(copies: RecordCopies): Promise<Read> {
    try {
      const state = readRecordCopies(copies);
      if (state.status === "missing" || isCurrent(state)) return state;
      const repaired = await underLock(copies, () => repairRecord(copies));
      return repaired.status === "failed" ? state : repaired;
    } catch (error) {
      return failureOf(error);
    }
  }

  function underLock<Result>(
    copies: RecordCopies,
    job: (hold: LockHold) => Promise<Result>,
  ): Promise<Result | RecordFailure> {
    const lock = { fs, path: join(copies.folder, `${copies.name}.lock`), waitMs: LOCK_WAIT_MS, now };
    return withFileLock(lock, (hold) => job(hold).catch(failureOf));
  }

  async function change<Result>(
    { id, expected }: Pick<RecordWrite, "id" | "expected">,
    act: (present: Present) => Promise<Result>,
  ): Promise<Result | RecordConflict | RecordFailure> {
    const records = await open();
    if (records.status === "failed") return records;
    const copies = records.copiesOf(pathName(id));
    return underLock(copies, async (hold) => {
      const state = checkId(await repairRecord(copies), id);
      if (state.status === "failed") return state;
      const actual = state.status === "found" ? state.version : state.status;
      if (actual !== expected) return { status: "conflict", actual };
      return act({ copies, state, check: () => assertHeld(hold) });
    });
  }

  return {
    async get(id) {
      const records = await open();
      return records.status === "failed" ? records : checkId(await read(records.copiesOf(pathName(id))), id);
    },

    async put({ id, value, expected }) {
      const json = toJson(value);
      if (typeof json !== "string") return json;
      return change({ id, expected }, async ({ copies, state, check }) => {
        const last = state.status === "found" ? state.version : 0;
        const lost = isCurrent(state) ? 0 : readGivenVersion(copies);
        const version = Math.max(last + 1, lost + 1, now(), newestVersion + 1);
        newestVersion = version;
        const bytes = sealLine([
          ["id", JSON.stringify(id)],
          ["version", String(version)],
          ["value", json],
        ]);
        await replaceRecord(copies, { bytes, replaced: state, check });
        return { status: "stored", version } as const;
      });
    },

    async list() {
      const records = await open();
      if (records.status === "failed") return records;
      try {
        const { folder, copiesOf } = records;
        const files = fs.readdir(folder);
        removeOldTemporaries({ fs, folder, nowMs: now(), names: files });
        const names = new Set(files.map(recordNameOf));
        return await readAll(names, (name) => read(copiesOf(name)));
      } catch (error) {
        return failureOf(error);
      }
    },

    async delete(id, expected) {
      return change({ id, expected }, async ({ copies, state, check }) => {
        await raiseGivenVersion(copies, state.status === "found" ? state.version : 0);
        check();
        await removeRecord(copies, check);
        return { status: "deleted" } as const;
      });
    },
  };
}

/** The newest version that this process assigned, so that versions grow even within a millisecond. */
let newestVersion = 0;

/** Where and how records are stored. */
export interface FileRecordStoreOptions {
  /** The folder of the records, for this store only. */
  readonly root: string;
}

/** The same with what only programs of ours and tests set. */
export interface FileRecordStoreSettings extends FileRecordStoreOptions, FileStoreSettings {}

const LOCK_WAIT_MS = 5_000;

interface Present {
  readonly copies: RecordCopies;
  readonly state: RecordReading;
  /** Throws if the lock was lost. */
  readonly check: () => void;
}

type Read = RecordReading | RecordFailure;

async function readAll(
  names: ReadonlySet<string | undefined>,
  read: (name: string) => Promise<Read>,
): Promise<RecordList> {
  const pause = createPause();
  const records: RecordFound[] = [];
  const problems: RecordProblem[] = [];
  for (const name of names) {
    if (name === undefined) continue;
    await pause();
    const record = await read(name);
    if (record.status === "found") records.push(record);
    else if (record.status !== "missing") problems.push(problemOf(name, record));
  }
  records.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { status: "listed", records, problems };
}

function problemOf(name: string, record: RecordCorrupt | RecordFailure): RecordProblem {
  const id = idOfPathName(name);
  const code = record.status === "corrupt" ? "CORRUPT" : record.code;
  return { ...(id === undefined ? {} : { id }), place: name, code, reason: record.reason };
}

// Some file systems ignore case, so that two ids may share a file.
function checkId<State extends Read>(state: State, id: string): State | RecordFailure {
  if (state.status !== "found" || state.id === id) return state;
  return {
    status: "failed",
    code: "ID_COLLISION",
    reason: `its file holds the record ${JSON.stringify(state.id)}`,
  };
}

function assertHeld(hold: LockHold): void {
  if (!hold.isOurs()) throw errorWithCode("LOCKED", "another process took the lock meanwhile");
}

/** The files of one record: the current copy, the previous one, and up to three quarantined damaged ones. */
interface RecordCopies {
  readonly fs: FileSystem;
  readonly durable: boolean;
  readonly now: () => number;
  readonly folder: string;
  readonly name: string;
  readonly current: string;
  readonly previous: string;
}

function recordCopies(options: Omit<RecordCopies, "current" | "previous">): RecordCopies {
  const current = join(options.folder, `${options.name}.json`);
  return { ...options, current, previous: `${current}.bak` };
}

/** The state of a record according to its files; changes nothing, throws with the system's code. */
function readRecordCopies(copies: RecordCopies): RecordReading {
  const current = readCopy(copies.fs, copies.current);
  if (current.status === "found") return current;
  const previous = readCopy(copies.fs, copies.previous);
  if (previous.status === "found") return { ...previous, recovered: true };
  for (const copy of [current, previous]) if (copy.status === "corrupt") return copy;
  const [damaged] = quarantinedFiles(copies);
  return damaged === undefined
    ? { status: "missing" }
    : { status: "corrupt", reason: `only ${damaged} is left` };
}

type RecordReading = RecordFound | RecordMissing | RecordCorrupt;

/** Like `readRecordCopies`, after setting damaged copies aside. The caller must hold the lock. */
async function repairRecord(copies: RecordCopies): Promise<RecordReading> {
  const { fs } = copies;
  const state = readRecordCopies(copies);
  if (state.status === "missing" || isCurrent(state)) return state;
  for (const path of [copies.current, copies.previous]) {
    if (readCopy(fs, path).status !== "corrupt") continue;
    // Where it does not say its version: that was the time of writing, and somewhat more after many writes in a moment.
    const writtenMs = Math.floor(fs.lstat(path).modifiedMs) + 60_000;
    await raiseGivenVersion(copies, Math.max(writtenMs, versionIn(fs, path)));
    setAside(copies, path);
  }
  return readRecordCopies(copies);
}

/** The version that a damaged copy begins with, as far as it can be read; else 0. */
function versionIn(fs: FileSystem, path: string): number {
  const text = Buffer.from(readWholeFile(fs, path)).toString("latin1");
  const version = Number(/^\{"v":1,"id":"(?:[^"\\]|\\.)*","version":(\d{1,16}),/.exec(text)?.[1]);
  return version <= Number.MAX_SAFE_INTEGER / 2 ? version : 0;
}

/** True unless the current copy is missing or damaged. */
function isCurrent(state: RecordReading): boolean {
  return state.status === "found" && !state.recovered;
}

/** Replaces the current copy atomically and keeps the old one as the backup. The caller must hold the lock. */
async function replaceRecord(copies: RecordCopies, { bytes, replaced, check }: Replacement): Promise<void> {
  const { fs, current, previous } = copies;
  await replaceFile(copies, {
    path: current,
    bytes,
    prepare() {
      check();
      // If the current copy is not valid, the backup is the only one and must be kept.
      if (!isCurrent(replaced)) return;
      removeIfAny(fs, previous);
      fs.link(current, previous);
    },
  });
}

async function replaceFile(
  { fs, folder, durable }: RecordCopies,
  {
    path,
    bytes,
    prepare,
  }: { readonly path: string; readonly bytes: Uint8Array; readonly prepare?: () => void },
): Promise<void> {
  const temporary = temporaryPath(folder);
  await writeNewFile({ fs, path: temporary, bytes, durable });
  try {
    prepare?.();
    fs.rename(temporary, path);
  } catch (error) {
    removeQuietly(fs, temporary);
    throw error;
  }
  if (durable) await syncFolder(fs, folder);
}

interface Replacement {
  readonly bytes: Uint8Array;
  readonly replaced: RecordReading;
  /** Throws if the lock was lost while the bytes were written. */
  readonly check: () => void;
}

/** Removes all files of a record, the current copy last, so that an interrupt leaves the record intact. The caller must hold the lock. */
async function removeRecord(copies: RecordCopies, check: () => void): Promise<void> {
  const { fs, folder, current, previous, durable } = copies;
  for (const file of quarantinedFiles(copies)) removeIfAny(fs, join(folder, file));
  removeIfAny(fs, previous);
  // A disk may forget the removals in any order, and the copy before must not come back alone.
  if (durable) await syncFolder(fs, folder);
  check();
  removeIfAny(fs, current);
  if (durable) await syncFolder(fs, folder);
}

/** The greatest version that records had which are gone, or whose copies were damaged: no version is given again. */
function readGivenVersion({ fs, folder }: RecordCopies): number {
  const bytes = readWholeFileIfAny(fs, join(folder, GIVEN_VERSION_FILE));
  const opened = bytes && openSealedLine(bytes.subarray(0, -1));
  const version = opened?.status === "whole" ? opened.fields.version : 0;
  return typeof version === "number" && Number.isSafeInteger(version) ? version : 0;
}

/** Remembers a version before its record goes. The time is remembered too: most records that go next are older. */
async function raiseGivenVersion(copies: RecordCopies, gone: number): Promise<void> {
  const { fs, folder, now } = copies;
  if (readGivenVersion(copies) >= gone) return;
  const path = join(folder, GIVEN_VERSION_FILE);
  const lock = { fs, path: `${path}.lock`, waitMs: LOCK_WAIT_MS, now };
  const failure = await withFileLock(lock, async () => {
    const version = Math.max(gone, now(), readGivenVersion(copies));
    await replaceFile(copies, { path, bytes: sealLine([["version", String(version)]]) });
  });
  if (failure) throw errorWithCode(failure.code, failure.reason);
}

/** Lies beside the records; no record has a name with another dot. */
export const GIVEN_VERSION_FILE = "given.version";

/** Moves a damaged copy behind those that were set aside before; of more than three the oldest goes. */
function setAside(copies: RecordCopies, path: string): void {
  const { fs, folder } = copies;
  const places = SLOTS.map((slot) => join(folder, `${copies.name}.json.corrupt-${slot}`));
  const last = places.findLastIndex((place) => ifAny(() => fs.lstat(place)) !== undefined);
  if (last === places.length - 1) {
    for (const [index, place] of places.entries()) {
      const before = places[index - 1];
      if (before !== undefined) ifAny(() => fs.rename(place, before));
    }
  }
  fs.rename(path, places[Math.min(last + 1, places.length - 1)] ?? path);
}

/** The names of the damaged copies, without listing the folder, which may hold a great many records. */
function quarantinedFiles({ fs, folder, name }: RecordCopies): readonly string[] {
  const names = SLOTS.map((slot) => `${name}.json.corrupt-${slot}`);
  return names.filter((file) => ifAny(() => fs.lstat(join(folder, file))) !== undefined);
}

const SLOTS = [1, 2, 3] as const;

/** Reads one copy of a record; throws with the system's code if the file cannot be read. */
function readCopy(fs: FileSystem, path: string): RecordReading {
  const bytes = readWholeFileIfAny(fs, path);
  if (bytes === undefined) return { status: "missing" };
  if (bytes.at(-1) !== NEWLINE) return { status: "corrupt", reason: `${path} has no end` };
  const opened = openSealedLine(bytes.subarray(0, -1));
  if (opened.status === "damaged") return { status: "corrupt", reason: `${path} ${opened.reason}` };
  const { id, version, value } = opened.fields;
  if (typeof id !== "string" || typeof version !== "number" || !Number.isSafeInteger(version)) {
    return { status: "corrupt", reason: `${path} has no id and version` };
  }
  return { status: "found", id, version, value };
}

/** The name of the record that a file belongs to: its current copy, its backup or a quarantined copy. */
export function recordNameOf(file: string): string | undefined {
  return /^(@?[A-Za-z0-9_-]+)\.json(?:\.bak|\.corrupt-[0-9]+)?$/.exec(file)?.[1];
}

const NEWLINE = 0x0a;
