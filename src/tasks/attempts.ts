import type { Attempts } from "./fork-record.ts";
import { hasPassed } from "./has-passed.ts";

/** Between two looks at a child's status, and before a host is asked for the same thing again. */
export const WATCH_MS = 30_000;
/** How often a host is asked for the same thing. */
export const MAX_ATTEMPTS = 3;

/** Counts one attempt more. */
export function oneMore(attempts: Attempts | undefined, atMs: number): Attempts {
  return { count: (attempts?.count ?? 0) + 1, lastAtMs: atMs };
}

/** True when it was never tried, or so long ago that the answer must be lost. */
export function isDueAgain(attempts: Attempts | undefined, atMs: number): boolean {
  return attempts === undefined || hasPassed({ sinceMs: attempts.lastAtMs, waitMs: WATCH_MS }, atMs);
}
