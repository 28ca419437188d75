/** A number with separators for thousands. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** Dollars with cents; small amounts get more digits, so that they do not show as $0.00. */
export function formatUSD(costUSD: number): string {
  const digits = costUSD === 0 || costUSD >= 0.1 ? 2 : 4;
  return `$${costUSD.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** A number of bytes as people read it. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/** A count with its noun: `1 line`, `2 lines`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
