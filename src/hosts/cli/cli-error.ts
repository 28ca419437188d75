/** Something the user can put right, or something outside that failed: what is wrong, and lines that say what to do. */
export class CliError extends Error {
  readonly code = "CARRYOVER_CLI" as const;
  readonly advice: readonly string[];
  readonly exitCode: ExitCode;

  constructor(message: string, advice: readonly string[] = [], options: CliErrorOptions = {}) {
    super(message, options);
    this.name = "CliError";
    this.advice = advice;
    this.exitCode = options.exitCode ?? EXIT_CODES.wrong;
  }
}

export interface CliErrorOptions extends ErrorOptions {
  readonly exitCode?: ExitCode;
}

/**
 * What the program answers: done; a fault of ours; a wrong argument or a file that cannot be read; another program or a
 * model that did not do its part; stopped with Ctrl-C.
 */
export const EXIT_CODES = { done: 0, fault: 1, wrong: 2, outside: 3, stopped: 130 } as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];
