import { accessSync, constants, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A new empty folder with its real path, removed after the tests of the file that asked for it. */
export function temporaryFolder(): string {
  return newFolder(tmpdir());
}

/** The same, without a disk behind it where the system has such a place: for many small runs. */
export function quickFolder(): string {
  return newFolder(quickPlace);
}

function newFolder(place: string): string {
  const folder = realpathSync(mkdtempSync(join(place, "carryover-stores-")));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];
const quickPlace = isWritable("/dev/shm") ? "/dev/shm" : tmpdir();

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
