/** Something the user can put right: what is wrong, and lines that say what to do. */
export class CliError extends Error {
  readonly code = "CARRYOVER_CLI" as const;
  readonly advice: readonly string[];

  constructor(message: string, advice: readonly string[] = [], options?: ErrorOptions) {
    super(message, options);
    this.name = "CliError";
    this.advice = advice;
  }
}
