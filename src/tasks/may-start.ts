import type { LiveRun } from "./fork-record.ts";

/** The longest that a run waits after a rate limit. */
export const MAX_BACK_OFF_MS = 300_000;

/** True when a queued run may have a slot; a wait longer than any is one of a clock that was set back. */
export function mayStart({ notBeforeMs = 0 }: LiveRun, atMs: number): boolean {
  return atMs >= notBeforeMs || notBeforeMs > atMs + MAX_BACK_OFF_MS;
}
