import { setImmediate as nextTurn } from "node:timers/promises";

/** Lets the rest of the program run whenever more than `sliceMs` have passed since it last could. */
export function createPause(sliceMs: number, beforePause?: () => void): () => Promise<void> {
  let startedMs = performance.now();
  return async () => {
    if (performance.now() - startedMs < sliceMs) return;
    beforePause?.();
    await nextTurn();
    startedMs = performance.now();
  };
}

/** Long work on files gives way this often. */
export const SLICE_MS: number = 20;
