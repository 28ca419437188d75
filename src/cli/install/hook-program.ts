import { findProgram, runToEnd } from "../../agents/programs.ts";
import type { Environment } from "../../plugin/context/context.ts";
import { CliError, EXIT_CODES } from "../terminal/cli-error.ts";

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
  settings(env: Environment): string;
  /** The variable that names another folder for them. */
  readonly settingsVariable: string;
  /** What is wrong with them, so that its commands would fail, and what to do. Unset where it says that well itself. */
  fault?(env: Environment): Promise<{ readonly what: string; readonly advice: string } | undefined>;
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

interface HookTrust {
  written(place: InstallPlace): readonly string[];
  write(place: InstallPlace): Promise<void>;
  remove(place: InstallPlace): Promise<void>;
}

/** The line of the user's own below the agent's input. */
interface StatusLine {
  written(place: InstallPlace): readonly string[];
  /** `theirs` where the user has one, which stays. */
  write(place: InstallPlace): Promise<"set" | "theirs">;
  remove(place: InstallPlace): Promise<void>;
}

export interface InstallPlace {
  readonly env: Environment;
  /** Where the plugin folder is kept for this agent. */
  readonly folder: string;
  /** The agent's program. */
  readonly program: string;
}

/** The program of an agent: the one that a variable names, or the first on the PATH. */
export function agentProgram(
  { command, variable }: Pick<HookProgram, "command" | "variable">,
  env: Environment,
): string | undefined {
  return env[variable] || findProgram(command, env);
}

/** The plugin's name in the agents, and behind it the place that it comes from. */
export const PLUGIN = "carryover@carryover";

/** Runs a command of the agent; what it says is shown only where it fails. */
export async function runProgram(
  { program, env }: InstallPlace,
  args: readonly string[],
  { mayFail = false }: { readonly mayFail?: boolean } = {},
): Promise<void> {
  const { hasSucceeded, said } = await runToEnd(program, args, { env });
  if (hasSucceeded || mayFail) return;
  throw new CliError(`${program} ${args.join(" ")} failed`, said.trim().split("\n").slice(-5), {
    exitCode: EXIT_CODES.outside,
  });
}
