/**
 * The window to believe after a provider named one: the smaller of both, unless the named one is too small
 * to be true (servers have reported windows of 3 tokens). An unknown configuration (0) takes what was seen.
 */
export function learnContextLimit(configuredTokens: number, seenTokens: number | undefined): number {
  if (seenTokens === undefined || !(seenTokens >= MIN_SEEN_TOKENS)) return configuredTokens;
  if (!(configuredTokens > 0)) return seenTokens;
  return seenTokens >= configuredTokens * MIN_SEEN_SHARE
    ? Math.min(configuredTokens, seenTokens)
    : configuredTokens;
}

const MIN_SEEN_TOKENS = 1_000;
const MIN_SEEN_SHARE = 0.25;
