import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { CliError, EXIT_CODES } from "../terminal/cli-error.ts";
import type { HookProgram, InstallPlace } from "./hook-program.ts";

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

/** Runs a command of the agent; what it says is shown only where it fails. */
export async function runProgram(
  { program, env }: InstallPlace,
  args: readonly string[],
  { mayFail = false }: { readonly mayFail?: boolean } = {},
): Promise<void> {
  const { code, said } = await execute(program, args, env);
  if (code === 0 || mayFail) return;
  throw new CliError(`${program} ${args.join(" ")} failed`, said.trim().split("\n").slice(-5), {
    exitCode: EXIT_CODES.outside,
  });
}

function execute(
  program: string,
  args: readonly string[],
  env: InstallPlace["env"],
): Promise<{ readonly code: number; readonly said: string }> {
  return new Promise((resolve) => {
    const options = { env: { ...env }, timeout: LIMIT_MS, encoding: "utf8" } as const;
    const child = execFile(program, [...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, said: `${stdout}${stderr}${error?.message ?? ""}` }),
    );
    child.stdin?.end();
  });
}

/** Without a network Claude Code may wait for a minute. */
const LIMIT_MS = 180_000;
