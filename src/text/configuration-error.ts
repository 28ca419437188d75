/** Thrown when settings cannot be used; lists every problem at once. */
export class ConfigurationError extends Error {
  readonly code = "CARRYOVER_CONFIGURATION" as const;
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Cannot use these settings: ${problems.join("; ")}`);
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}
