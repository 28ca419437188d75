/** A failure that the user can correct, or one outside of Carryover: the message, and lines of advice. */
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

/** The code of an error about more files than a command takes. */
export const TOO_MANY = "too-many-files";

/** What the system says of a file or a folder, as a failure that the user can correct; undefined for any other error. */
export function systemError(error: unknown): CliError | undefined {
  const { code = "", path } = error as NodeJS.ErrnoException;
  const reason = SYSTEM_REASONS[code];
  if (reason === undefined || path === undefined) return undefined;
  return new CliError(`Cannot use ${path}: ${reason}`, [OTHER_FOLDERS], { cause: error });
}

const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  EACCES: "you may not read or write there",
  EPERM: "you may not read or write there",
  EROFS: "nothing can be written there",
  ENOSPC: "there is no space left",
  EDQUOT: "your quota is used up",
  ENOTDIR: "a part of this path is a file where a folder should be",
  EEXIST: "there is a file where a folder should be",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "its links lead in a circle",
};

const OTHER_FOLDERS =
  "Move what is in the way, or name another folder: CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR, XDG_DATA_HOME for OpenCode and for what Carryover notes, TMPDIR for what is only passing.";

interface CliErrorOptions extends ErrorOptions {
  readonly exitCode?: ExitCode;
}

/** `fault`: a bug of ours. `wrong`: an argument or a file. `outside`: another program or a model. `stopped`: Ctrl-C. */
export const EXIT_CODES = { done: 0, fault: 1, wrong: 2, outside: 3, stopped: 130 } as const;

type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** Runs a job with a signal that Ctrl-C aborts, instead of ending the program. */
export async function withInterrupt<Result>(job: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  process.once("SIGINT", abort);
  try {
    return await job(controller.signal);
  } finally {
    process.off("SIGINT", abort);
  }
}

/** The error of a command that Ctrl-C has ended. */
export function interrupted(message: string): CliError {
  return new CliError(message, [], { exitCode: EXIT_CODES.stopped });
}
