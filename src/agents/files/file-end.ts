import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

/** The end of a session's file, at most so many bytes of it. */
export function tailOf(path: string, maxBytes: number): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, maxBytes));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8");
  } finally {
    closeSync(file);
  }
}

/** In bytes; a file that is not there has none. */
export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
