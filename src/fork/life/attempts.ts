import type { Attempts } from "./record.ts";

/** Between two checks of a child's status, and before an action is requested again. */
export const WATCH_MS = 30_000;

/** How often an action is requested. */
export const MAX_ATTEMPTS = 3;

/** Counts one attempt more. */
export function countAttempt(attempts: Attempts | undefined, atMs: number): Attempts {
  return { count: (attempts?.count ?? 0) + 1, lastAtMs: atMs };
}

/** True when it was never tried, or so long ago that its answer must be lost. */
export function isDueAgain(attempts: Attempts | undefined, atMs: number): boolean {
  return attempts === undefined || isOverdue({ sinceMs: attempts.lastAtMs, waitMs: WATCH_MS }, atMs);
}

/**
 * True when a wait is over. A start that is well ahead of now counts as over too: the clock was set back, and the
 * wait would take until it has caught up.
 */
export function isOverdue({ sinceMs, waitMs }: Wait, nowMs: number): boolean {
  return nowMs >= sinceMs + waitMs || sinceMs > nowMs + MAX_AHEAD_MS;
}

export interface Wait {
  readonly sinceMs: number;
  readonly waitMs: number;
}

/** Events out of order differ by less. */
const MAX_AHEAD_MS = 60_000;
