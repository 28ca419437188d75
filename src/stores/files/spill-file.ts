import { createHash } from "node:crypto";
import { join } from "node:path";
import { CHUNK_BYTES } from "./byte-chunks.ts";
import type { FileSystem } from "./file-system.ts";
import { createPause, SLICE_MS } from "./pause.ts";
import { openRegularFile } from "./whole-file.ts";

/** Where the content with this hash lies under a spill folder. */
export function spillPath(root: string, sha256: string): string {
  return join(root, sha256.slice(0, 2), sha256);
}

/** Where cleaning puts a file for the moment between choosing and removing it. */
export function doomedPath(path: string): string {
  return `${path}.doomed`;
}

/** True for the name of a spilled file, which is also its handle. */
export function isSha256(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

/** All bytes of a spilled file and their hash, read in pieces so that the program can go on; throws with the system's code. */
export async function readSpillFile(fs: FileSystem, path: string): Promise<SpillContent> {
  const pause = createPause(SLICE_MS);
  const { fd, sizeBytes } = openRegularFile(fs, path);
  try {
    const hash = createHash("sha256");
    const bytes = Buffer.allocUnsafe(sizeBytes);
    let filled = 0;
    while (filled < sizeBytes) {
      const count = fs.read(fd, bytes.subarray(filled, filled + CHUNK_BYTES));
      if (count === 0) break;
      hash.update(bytes.subarray(filled, filled + count));
      filled += count;
      await pause();
    }
    return { sha256: hash.digest("hex"), bytes: bytes.subarray(0, filled) };
  } finally {
    fs.close(fd);
  }
}

export interface SpillContent {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}
