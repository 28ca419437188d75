import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import type { Environment } from "../plugin/context/context.ts";

/** A program as a shell finds it: at its path, or the first of that name on the PATH; undefined where it cannot be run. */
export function findProgram(name: string, { PATH = "" }: Environment): string | undefined {
  const isPath = /[/\\]/.test(name);
  const folders = isPath ? [process.cwd()] : PATH.split(delimiter).filter((folder) => folder !== "");
  const endings = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  const files = folders.flatMap((folder) => endings.map((ending) => resolve(folder, `${name}${ending}`)));
  return files.find(canRun);
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Runs a program to its end, with a text as its input. Never throws: one that could not be started has failed. */
export function runToEnd(
  program: string,
  args: readonly string[],
  { env, cwd, input = "", limitMs = LIMIT_MS }: RunOptions,
): Promise<FinishedProgram> {
  return new Promise((resolve) => {
    const options = {
      env: { ...env },
      cwd,
      timeout: limitMs,
      encoding: "utf8",
      maxBuffer: MAX_BYTES,
    } as const;
    const child = execFile(program, [...args], options, (error, stdout, stderr) =>
      resolve({
        hasSucceeded: error === null,
        stdout,
        said: `${stdout}${stderr}` || (error?.message ?? ""),
      }),
    );
    child.stdin?.on("error", () => {}).end(input);
  });
}

interface RunOptions {
  readonly env: Environment;
  readonly cwd?: string;
  readonly input?: string;
  /** After this long it is killed. */
  readonly limitMs?: number;
}

export interface FinishedProgram {
  readonly hasSucceeded: boolean;
  readonly stdout: string;
  /** Everything that it printed; where that is nothing, why it could not run. */
  readonly said: string;
}

/** Without a network Claude Code may wait for a minute. */
const LIMIT_MS = 180_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** The oldest Node that the package runs in, as `engines` in package.json says. */
export const OLDEST_NODE = "20.19";

/** Whether a version of Node, with or without its `v`, is new enough. */
export function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0] = numbersIn(version);
  const [oldestMajor = 0, oldestMinor = 0] = numbersIn(OLDEST_NODE);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

function numbersIn(version: string): readonly number[] {
  return version.replace(/^v/, "").split(".").map(Number);
}
