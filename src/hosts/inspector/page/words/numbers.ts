/** A whole number with its thousands apart: `12,345`. */
export function count(value: number): string {
  return WHOLE.format(Math.round(value));
}

/** A number as short as it can be read: `48 k`, `1.2 M`. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 1_000) return count(value);
  const [unit, divisor] = size < 999_500 ? ["k", 1_000] : ["M", 1_000_000];
  const scaled = value / divisor;
  return `${Math.abs(scaled) < 9.95 ? scaled.toFixed(1) : Math.round(scaled)} ${unit}`;
}

/** A part of a whole in percent: `<1 %`, `96 %`. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const value = (100 * part) / whole;
  return value < 1 ? "<1 %" : `${Math.round(value)} %`;
}

/** A number with its sign: `+12`, `−3,100`, `±0`. */
export function signed(value: number): string {
  if (Math.round(value) === 0) return "±0";
  return `${value > 0 ? "+" : "−"}${count(Math.abs(value))}`;
}

/** A number and the word for it: `1 message`, `2 messages`. */
export function plural(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

/** A moment as the reader's own clock shows it. */
export function moment(atMs: number): string {
  return Number.isFinite(atMs) && Math.abs(atMs) < 8.64e15 ? MOMENT.format(atMs) : "";
}

/** The time of day of a moment. */
export function clock(atMs: number): string {
  return Number.isFinite(atMs) && Math.abs(atMs) < 8.64e15 ? CLOCK.format(atMs) : "";
}

const WHOLE: Intl.NumberFormat = new Intl.NumberFormat("en-US");
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
