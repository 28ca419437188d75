import { InvalidArgumentError } from "commander";

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

interface CliErrorOptions extends ErrorOptions {
  readonly exitCode?: ExitCode;
}

/**
 * What the program answers: done; a fault of ours; a wrong argument or a file that cannot be read; another program or a
 * model that did not do its part; stopped with Ctrl-C.
 */
export const EXIT_CODES = { done: 0, fault: 1, wrong: 2, outside: 3, stopped: 130 } as const;

type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** Reads an argument that counts something. */
export function parseCount(value: string): number {
  const count = Number(value);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("Give a whole number from 1 on.");
  return count;
}

/** Reads an argument that is a size, such as 200_000 or 200k. */
export function parseSize(value: string): number {
  const [, digits = "", thousand] = /^(\d[\d_,]*)(k?)$/i.exec(value.trim()) ?? [];
  const size = Number(digits.replace(/[_,]/g, "")) * (thousand ? 1000 : 1);
  if (digits === "" || !Number.isSafeInteger(size))
    throw new InvalidArgumentError("Give a whole number, such as 200000 or 200k.");
  return size;
}
