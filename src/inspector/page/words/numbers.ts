/** A whole number with thousands separators: `12,345`. */
export function count(value: number): string {
  return WHOLE.format(Math.round(value));
}

/** A number in short: `48 k`, `1.2 M`. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 1_000) return count(value);
  const [unit, divisor] = size < 999_500 ? ["k", 1_000] : ["M", 1_000_000];
  const scaled = value / divisor;
  return `${Math.abs(scaled) < 9.95 ? scaled.toFixed(1) : Math.round(scaled)} ${unit}`;
}

/** A share in percent: `<1 %`, `96 %`. */
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

/** A number with its noun: `1 message`, `2 messages`. */
export function plural(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

const WHOLE: Intl.NumberFormat = new Intl.NumberFormat("en-US");
