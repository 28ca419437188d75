/** The share of true values; undefined when there are none. */
export function shareOf(flags: readonly boolean[]): number | undefined {
  if (flags.length === 0) return undefined;
  return flags.reduce((count, flag) => count + (flag ? 1 : 0), 0) / flags.length;
}
