/** Milliseconds since 1970 of a time as files write it: a date, or the number itself. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) : value;
  return typeof time === "number" && Number.isFinite(time) ? time : undefined;
}

/** The date that a file writes for a time; undefined for one that no date has. */
export function dateOf(timeMs: number): string | undefined {
  // Dates end 8.64e15 ms from 1970.
  return Math.abs(timeMs) <= 8.64e15 ? new Date(timeMs).toISOString() : undefined;
}
