import { rmSync } from "node:fs";

/**
 * Removes a folder into which a process that nobody waits for may still write: `maxRetries` of Node tries again only with the
 * folder, not with what came into it meanwhile.
 */
export function removeFolder(folder: string): void {
  const deadlineMs = Date.now() + LONG_ENOUGH_MS;
  for (;;) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (cause) {
      if (Date.now() > deadlineMs) throw cause;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

const LONG_ENOUGH_MS = 10_000;
const PAUSE_MS = 50;
