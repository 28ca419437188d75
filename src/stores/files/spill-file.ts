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

/** Hands every piece of a spilled file to `take`; gives the hash of what it read. Throws with the system's code. */
export async function readSpillFile({ fs, path, take }: SpillRead): Promise<string> {
  const pause = createPause(SLICE_MS);
  const { fd, sizeBytes } = openRegularFile(fs, path);
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, sizeBytes + 1));
    for (;;) {
      const count = fs.read(fd, buffer);
      if (count === 0) return hash.digest("hex");
      hash.update(buffer.subarray(0, count));
      take(buffer.subarray(0, count));
      await pause();
    }
  } finally {
    fs.close(fd);
  }
}

export interface SpillRead {
  readonly fs: FileSystem;
  readonly path: string;
  readonly take: (piece: Uint8Array) => void;
}
