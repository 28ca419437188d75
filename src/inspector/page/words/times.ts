/** Date and time in the reader's own time zone. */
export function moment(atMs: number): string {
  return isDate(atMs) ? MOMENT.format(atMs) : "";
}

/** The time of day. */
export function clock(atMs: number): string {
  return isDate(atMs) ? CLOCK.format(atMs) : "";
}

function isDate(atMs: number): boolean {
  return Number.isFinite(atMs) && Math.abs(atMs) < 8.64e15;
}

const MOMENT: Intl.DateTimeFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

const CLOCK: Intl.DateTimeFormat = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
