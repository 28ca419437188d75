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
} from "../../tasks/record-store.ts";
import { toJson } from "../to-json.ts";
import { type LockHold, withFileLock } from "./file-lock.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { idOfPathName, pathName } from "./path-name.ts";
import { createPause, SLICE_MS } from "./pause.ts";
import { openPrivateFolder } from "./private-folder.ts";
import {
  isCurrent,
  lookAtRecord,
  type RecordCopies,
  type RecordLook,
  recordCopies,
  removeRecord,
  replaceRecord,
  settleRecord,
} from "./record-copies.ts";
import { encodeRecord, recordNameOf } from "./record-file.ts";
import { failureOf } from "./store-failure.ts";
import { removeOldTemporaries } from "./whole-file.ts";

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
      const look = lookAtRecord(copies);
      if (look.status === "missing" || isCurrent(look)) return look;
      const settled = await underLock(copies, async () => settleRecord(copies));
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
      const look = checkId(settleRecord(copies), id);
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
  readonly look: RecordLook;
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
