import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { CliError, EXIT_CODES } from "../terminal/cli-error.ts";

/** The program of an agent: the one that a variable names, or the first on the PATH. */
export async function findProgram(
  { command, variable, title }: HookProgram,
  env: InstallPlace["env"],
): Promise<string> {
  const named = env[variable];
  if (named) return named;
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const path = join(folder, command);
    if (folder !== "" && isProgram(path)) return path;
  }
  throw new CliError(`${title} is not installed: there is no ${command} on the PATH`, [
    `Install it first, or name its program in ${variable}.`,
  ]);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The plugin's name in the agents, and behind it the place that it comes from. */
export const PLUGIN = "carryover@carryover";

/** Runs a command of the agent; what it says is shown only where it fails. */
export async function runProgram(
  { program, env }: InstallPlace,
  args: readonly string[],
  { mayFail = false }: { readonly mayFail?: boolean } = {},
): Promise<void> {
  const { code, said } = await execute(program, args, { env });
  if (code === 0 || mayFail) return;
  throw new CliError(`${program} ${args.join(" ")} failed`, said.trim().split("\n").slice(-5), {
    exitCode: EXIT_CODES.outside,
  });
}

/** Runs a program to its end, with a text as its input. */
export function execute(
  program: string,
  args: readonly string[],
  { env, input = "" }: { readonly env: InstallPlace["env"]; readonly input?: string },
): Promise<Executed> {
  return new Promise((resolve) => {
    const options = { env: { ...env }, timeout: LIMIT_MS, encoding: "utf8" } as const;
    const child = execFile(program, [...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, stdout, said: `${stdout}${stderr}` || (error?.message ?? "") }),
    );
    child.stdin?.on("error", () => {}).end(input);
  });
}

interface Executed {
  readonly code: number;
  readonly stdout: string;
  /** Everything that it printed; why it could not run where that is nothing. */
  readonly said: string;
}

/** Without a network Claude Code may wait for a minute. */
const LIMIT_MS = 180_000;

/** An agent that runs hooks, as the installation sees it. */
export interface HookProgram {
  readonly name: "claude-code" | "codex";
  readonly title: string;
  /** What it is called on the PATH, and the variable that names it where it is not there. */
  readonly command: string;
  readonly variable: string;
  /** The version on which its facts were measured. */
  readonly testedVersion: string;
  /** Its own verbs for a plugin. */
  readonly addVerb: string;
  readonly removeVerb: string;
  /** Unset where adding it again takes the newer version. */
  readonly updateVerb?: string;
  /** The user's settings, into which its commands write. */
  settings(env: InstallPlace["env"]): string;
  /** The variable that names another folder for them. */
  readonly settingsVariable: string;
  /** What is wrong with them, so that its commands would fail, and what to do. Unset where it says that well itself. */
  fault?(env: InstallPlace["env"]): Promise<{ readonly what: string; readonly advice: string } | undefined>;
  /** What its commands write, line by line. */
  written(place: InstallPlace): readonly string[];
  /** Completes the copied folder by what depends on the user's settings, and clears what would keep it from starting. */
  prepare?(place: InstallPlace): Promise<void>;
  /** Runs the commands; afterwards the user's settings are what they were, byte for byte, but for what is ours. */
  keepSettings(place: InstallPlace, what: "install" | "uninstall", run: () => Promise<void>): Promise<void>;
  /** Unset where hooks need no trust. */
  readonly trust?: HookTrust;
  /** Unset where a program of one's own cannot be shown. */
  readonly statusLine?: StatusLine;
  /** What a person does next. */
  next(done: { readonly isTrusted: boolean }): readonly string[];
}

export interface HookTrust {
  written(place: InstallPlace): readonly string[];
  write(place: InstallPlace): Promise<void>;
  remove(place: InstallPlace): Promise<void>;
}

/** The line of the user's own below the agent's input. */
export interface StatusLine {
  written(place: InstallPlace): readonly string[];
  /** `theirs` where the user has one, which stays. */
  write(place: InstallPlace): Promise<"set" | "theirs">;
  remove(place: InstallPlace): Promise<void>;
}

export interface InstallPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the plugin folder is kept for this agent. */
  readonly folder: string;
  /** The agent's program. */
  readonly program: string;
}
