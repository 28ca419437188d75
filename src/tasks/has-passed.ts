/**
 * True when so long has passed since something happened. What lies well ahead counts as long past: only a clock that
 * was set back can bring that about, and nobody may wait for it to catch up.
 */
export function hasPassed({ sinceMs, waitMs }: Wait, nowMs: number): boolean {
  return nowMs >= sinceMs + waitMs || sinceMs > nowMs + MAX_AHEAD_MS;
}

export interface Wait {
  readonly sinceMs: number;
  readonly waitMs: number;
}

/** Events that come out of order differ by less. */
const MAX_AHEAD_MS = 60_000;
