import { join, resolve } from "node:path";
import type {
  RecordConflict,
  RecordCorrupt,
  RecordFailure,
  RecordFound,
  RecordList,
  RecordMissing,
  RecordProblem,
  RecordState,
  RecordStore,
} from "../../fork/life/record-store.ts";
import { failureOf, toJson } from "../store-failure.ts";
import { createPause, SLICE_MS } from "./byte-chunks.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { type LockHold, withFileLock } from "./lock.ts";
import { idOfPathName, pathName } from "./path-name.ts";
import { openSealedLine, sealLine } from "./sealed-line.ts";
import {
  openPrivateFolder,
  readWholeFileIfAny,
  removeIfAny,
  removeOldTemporaries,
  removeQuietly,
  syncFolder,
  temporaryPath,
  writeNewFile,
} from "./whole-file.ts";

/** Keeps each record in a file of its own, replaced in one step under a lock, with the copy before it as a backup. */
export function createFileRecordStore(options: FileRecordStoreOptions): RecordStore {
  const { fs = nodeFileSystem, durable = true, now = Date.now } = options;
  const root = resolve(options.root);
  let hasStarted = false;

  async function open(): Promise<OpenRecords | RecordFailure> {
    const folder = await openPrivateFolder({ fs, path: root, durable });
    if (folder.status === "failed") return folder;
    if (!hasStarted) removeOldTemporaries({ fs, folder: folder.path, nowMs: now() });
    hasStarted = true;
    const copiesOf = (name: string): RecordCopies =>
      recordCopies({ fs, now, durable, folder: folder.path, name });
    return { status: "open", folder: folder.path, copiesOf };
  }

  // Anything but a whole current copy may be another process at work, and only the lock tells.
  async function read(copies: RecordCopies): Promise<Read> {
    try {
      const look = readRecordCopies(copies);
      if (look.status === "missing" || isCurrent(look)) return look;
      const settled = await underLock(copies, async () => repairRecord(copies));
      return settled.status === "failed" ? look : settled;
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

  async function change<Result>(expectation: Expectation, act: ChangeAct<Result>): Promise<Changed<Result>> {
    const { id, expected } = expectation;
    const records = await open();
    if (records.status === "failed") return records;
    const copies = records.copiesOf(pathName(id));
    return underLock(copies, async (hold) => {
      const look = checkId(repairRecord(copies), id);
      if (look.status === "failed") return look;
      const actual = look.status === "found" ? look.version : look.status;
      if (actual !== expected) return { status: "conflict", actual };
      return act({ copies, look, check: () => assertHeld(hold) });
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
      return change({ id, expected }, async ({ copies, look, check }) => {
        // The clock keeps versions growing across a delete and across damage, where the last one is not known.
        const version = Math.max(look.status === "found" ? look.version + 1 : 1, now(), newestVersion + 1);
        newestVersion = version;
        await replaceRecord(copies, { bytes: encodeRecord({ id, version, json }), replaced: look, check });
        return { status: "stored", version } as const;
      });
    },

    async list() {
      const records = await open();
      if (records.status === "failed") return records;
      try {
        const names = new Set(fs.readdir(records.folder).map(recordNameOf));
        return await readAll(names, (name) => read(records.copiesOf(name)));
      } catch (error) {
        return failureOf(error);
      }
    },

    async delete(id, expected) {
      return change({ id, expected }, async ({ copies, check }) => {
        check();
        await removeRecord(copies);
        return { status: "deleted" } as const;
      });
    },
  };
}

/** The newest version this process gave: a record written, deleted and written again within a millisecond still grows. */
let newestVersion = 0;

export interface FileRecordStoreOptions {
  /** The folder that holds the records, one store to a folder. */
  readonly root: string;
  /** Whether a record must also survive a power cut; default true. */
  readonly durable?: boolean;
  readonly fs?: FileSystem;
  readonly now?: () => number;
}

const LOCK_WAIT_MS = 5_000;

interface OpenRecords {
  readonly status: "open";
  readonly folder: string;
  readonly copiesOf: (name: string) => RecordCopies;
}

interface Expectation {
  readonly id: string;
  readonly expected: RecordState;
}

type ChangeAct<Result> = (present: Present) => Promise<Result>;
type Changed<Result> = Result | RecordConflict | RecordFailure;

interface Present {
  readonly copies: RecordCopies;
  readonly look: RecordReading;
  readonly check: () => void;
}

type Read = RecordFound | RecordMissing | RecordCorrupt | RecordFailure;

async function readAll(
  names: ReadonlySet<string | undefined>,
  read: (name: string) => Promise<Read>,
): Promise<RecordList> {
  const pause = createPause(SLICE_MS);
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

// Some file systems take A and a for the same name.
function checkId<Look extends Read>(look: Look, id: string): Look | RecordFailure {
  if (look.status !== "found" || look.id === id) return look;
  return {
    status: "failed",
    code: "ID_COLLISION",
    reason: `its file holds the record ${JSON.stringify(look.id)}`,
  };
}

function assertHeld(hold: LockHold): void {
  if (!hold.isOurs())
    throw Object.assign(new Error("another process took the lock meanwhile"), { code: "LOCKED" });
}

/** The files of one record: the current copy, the one before it, and up to three damaged ones that were set aside. */
interface RecordCopies {
  readonly fs: FileSystem;
  readonly now: () => number;
  readonly durable: boolean;
  readonly folder: string;
  readonly name: string;
  readonly current: string;
  readonly previous: string;
}

/** The files of the record with this file name; nothing is read yet. */
function recordCopies(options: Omit<RecordCopies, "current" | "previous">): RecordCopies {
  const current = join(options.folder, `${options.name}.json`);
  return { ...options, current, previous: `${current}.bak` };
}

/** The state of the record as its files show it, without changing any; throws with the system's code. */
function readRecordCopies(copies: RecordCopies): RecordReading {
  const current = readCopy(copies.fs, copies.current);
  if (current.status === "whole") return foundIn(current);
  const previous = readCopy(copies.fs, copies.previous);
  if (previous.status === "whole") return { ...foundIn(previous), recovered: true };
  for (const copy of [current, previous]) if (copy.status === "corrupt") return copy;
  const [aside] = quarantinedFiles(copies);
  return aside === undefined ? { status: "missing" } : { status: "corrupt", reason: `only ${aside} is left` };
}

type RecordReading = RecordFound | RecordMissing | RecordCorrupt;

/** Like lookAtRecord, after setting damaged copies aside; only for the holder of the lock. */
function repairRecord(copies: RecordCopies): RecordReading {
  const look = readRecordCopies(copies);
  if (look.status === "missing" || isCurrent(look)) return look;
  for (const path of [copies.current, copies.previous]) {
    if (readCopy(copies.fs, path).status === "corrupt") quarantine(copies, path);
  }
  return readRecordCopies(copies);
}

/** True unless the current copy is missing or damaged. */
function isCurrent(look: RecordReading): boolean {
  return look.status === "found" && !look.recovered;
}

/** Puts a new current copy in place in one step and keeps the old one as the backup; only for the holder of the lock. */
async function replaceRecord(copies: RecordCopies, replacement: Replacement): Promise<void> {
  const { fs, folder, current, previous, durable } = copies;
  const temporary = temporaryPath(folder);
  await writeNewFile({ fs, path: temporary, bytes: replacement.bytes, durable });
  try {
    replacement.check();
    // Without a whole current copy the backup is all there is, and must stay.
    if (isCurrent(replacement.replaced)) {
      removeIfAny(fs, previous);
      fs.link(current, previous);
    }
    fs.rename(temporary, current);
  } catch (error) {
    removeQuietly(fs, temporary);
    throw error;
  }
  if (durable) await syncFolder(fs, folder);
}

interface Replacement {
  readonly bytes: Uint8Array;
  readonly replaced: RecordReading;
  /** Throws if the lock was lost while the bytes went to the disk. */
  readonly check: () => void;
}

/** Removes every file of the record, the current copy last, so that it is whole until it is gone; only for the holder of the lock. */
async function removeRecord(copies: RecordCopies): Promise<void> {
  const { fs, folder, current, previous, durable } = copies;
  for (const file of quarantinedFiles(copies)) removeIfAny(fs, join(folder, file));
  removeIfAny(fs, previous);
  removeIfAny(fs, current);
  if (durable) await syncFolder(fs, folder);
}

function quarantine(copies: RecordCopies, path: string): void {
  const older = quarantinedFiles(copies);
  const prefix = `${copies.name}.json.corrupt-`;
  const times = older.map((file) => Number(file.slice(prefix.length)));
  const timeMs = Math.max(copies.now(), ...times.map((taken) => taken + 1));
  copies.fs.rename(path, join(copies.folder, `${prefix}${timeMs}`));
  for (const file of older.slice(0, Math.max(0, older.length + 1 - MAX_QUARANTINED))) {
    removeQuietly(copies.fs, join(copies.folder, file));
  }
}

function quarantinedFiles({ fs, folder, name }: RecordCopies): readonly string[] {
  return fs
    .readdir(folder)
    .filter((file) => file.startsWith(`${name}.json.corrupt-`) && recordNameOf(file) === name)
    .sort();
}

function foundIn(copy: Extract<RecordCopy, { status: "whole" }>): RecordFound {
  return { status: "found", id: copy.id, version: copy.version, value: copy.value };
}

const MAX_QUARANTINED = 3;

/** The content of a record's file. */
function encodeRecord(record: EncodableRecord): Uint8Array {
  return sealLine([
    ["id", JSON.stringify(record.id)],
    ["version", String(record.version)],
    ["value", record.json],
  ]);
}

interface EncodableRecord {
  readonly id: string;
  readonly version: number;
  readonly json: string;
}

/** One copy of a record; throws only for what the system would not do. */
function readCopy(fs: FileSystem, path: string): RecordCopy {
  const bytes = readWholeFileIfAny(fs, path);
  if (bytes === undefined) return { status: "missing" };
  if (bytes.at(-1) !== NEWLINE) return { status: "corrupt", reason: `${path} has no end` };
  const opened = openSealedLine(bytes.subarray(0, -1));
  if (opened.status === "damaged") return { status: "corrupt", reason: `${path} ${opened.reason}` };
  const { id, version, value } = opened.fields;
  if (typeof id !== "string" || typeof version !== "number" || !Number.isSafeInteger(version)) {
    return { status: "corrupt", reason: `${path} has no id and version` };
  }
  return { status: "whole", id, version, value };
}

type RecordCopy =
  | { readonly status: "whole"; readonly id: string; readonly version: number; readonly value: unknown }
  | { readonly status: "missing" }
  | { readonly status: "corrupt"; readonly reason: string };

/** The name of the record that a file belongs to, if it is a file that shows that the record exists. */
export function recordNameOf(file: string): string | undefined {
  return /^(@?[A-Za-z0-9_-]+)\.json(?:\.bak|\.corrupt-[0-9]+)?$/.exec(file)?.[1];
}

const NEWLINE = 0x0a;
