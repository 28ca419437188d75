/** One pattern that matches wherever one of the given ones does, so that a rule reads as a list of wordings. */
export function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map((pattern) => `(?:${pattern.source})`).join("|"));
}
