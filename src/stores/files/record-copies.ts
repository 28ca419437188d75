import { join } from "node:path";
import type { RecordCorrupt, RecordFound, RecordMissing } from "../../tasks/record-store.ts";
import type { FileSystem } from "./file-system.ts";
import { type RecordCopy, readCopy, recordNameOf } from "./record-file.ts";
import { removeIfAny, removeQuietly, syncFolder, temporaryPath, writeNewFile } from "./whole-file.ts";

/** The files of one record: the current copy, the one before it, and up to three damaged ones that were set aside. */
export interface RecordCopies {
  readonly fs: FileSystem;
  readonly now: () => number;
  readonly durable: boolean;
  readonly folder: string;
  readonly name: string;
  readonly current: string;
  readonly previous: string;
}

/** The files of the record with this file name; nothing is read yet. */
export function recordCopies(options: Omit<RecordCopies, "current" | "previous">): RecordCopies {
  const current = join(options.folder, `${options.name}.json`);
  return { ...options, current, previous: `${current}.bak` };
}

/** The state of the record as its files show it, without changing any; throws with the system's code. */
export function lookAtRecord(copies: RecordCopies): RecordLook {
  const current = readCopy(copies.fs, copies.current);
  if (current.status === "whole") return foundIn(current);
  const previous = readCopy(copies.fs, copies.previous);
  if (previous.status === "whole") return { ...foundIn(previous), recovered: true };
  for (const copy of [current, previous]) if (copy.status === "corrupt") return copy;
  const [aside] = filesSetAside(copies);
  return aside === undefined ? { status: "missing" } : { status: "corrupt", reason: `only ${aside} is left` };
}

export type RecordLook = RecordFound | RecordMissing | RecordCorrupt;

/** Like lookAtRecord, after setting damaged copies aside; only for the holder of the lock. */
export function settleRecord(copies: RecordCopies): RecordLook {
  const look = lookAtRecord(copies);
  if (look.status === "missing" || isCurrent(look)) return look;
  for (const path of [copies.current, copies.previous]) {
    if (readCopy(copies.fs, path).status === "corrupt") setAside(copies, path);
  }
  return lookAtRecord(copies);
}

/** True unless the current copy is missing or damaged. */
export function isCurrent(look: RecordLook): boolean {
  return look.status === "found" && !look.recovered;
}

/** Puts a new current copy in place in one step and keeps the old one as the backup; only for the holder of the lock. */
export async function replaceRecord(copies: RecordCopies, replacement: Replacement): Promise<void> {
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

export interface Replacement {
  readonly bytes: Uint8Array;
  readonly replaced: RecordLook;
  /** Throws if the lock was lost while the bytes went to the disk. */
  readonly check: () => void;
}

/** Removes every file of the record, the current copy last, so that it is whole until it is gone; only for the holder of the lock. */
export async function removeRecord(copies: RecordCopies): Promise<void> {
  const { fs, folder, current, previous, durable } = copies;
  for (const file of filesSetAside(copies)) removeIfAny(fs, join(folder, file));
  removeIfAny(fs, previous);
  removeIfAny(fs, current);
  if (durable) await syncFolder(fs, folder);
}

function setAside(copies: RecordCopies, path: string): void {
  const older = filesSetAside(copies);
  const prefix = `${copies.name}.json.corrupt-`;
  const times = older.map((file) => Number(file.slice(prefix.length)));
  const timeMs = Math.max(copies.now(), ...times.map((taken) => taken + 1));
  copies.fs.rename(path, join(copies.folder, `${prefix}${timeMs}`));
  for (const file of older.slice(0, Math.max(0, older.length + 1 - MAX_SET_ASIDE))) {
    removeQuietly(copies.fs, join(copies.folder, file));
  }
}

function filesSetAside({ fs, folder, name }: RecordCopies): readonly string[] {
  return fs
    .readdir(folder)
    .filter((file) => file.startsWith(`${name}.json.corrupt-`) && recordNameOf(file) === name)
    .sort();
}

function foundIn(copy: Extract<RecordCopy, { status: "whole" }>): RecordFound {
  return { status: "found", id: copy.id, version: copy.version, value: copy.value };
}

const MAX_SET_ASIDE = 3;
