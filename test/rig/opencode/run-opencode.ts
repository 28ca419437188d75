import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { endProcessTree } from "./process-tree.ts";
import type { Sandbox } from "./sandbox.ts";

/** Runs one command of OpenCode, or of another agent, to its end in a sandbox, and gives how it ended and what it printed. */
export async function runOpenCode({
  binary,
  args,
  sandbox,
  env,
  timeoutMs,
}: Command): Promise<CommandResult> {
  // Into files: OpenCode ends before a pipe is drained, and a long export arrives cut in the middle.
  const folder = mkdtempSync(join(sandbox.root, "run-"));
  const stdout = openSync(join(folder, "stdout"), "w");
  const stderr = openSync(join(folder, "stderr"), "w");
  const child = spawn(binary, args, {
    cwd: sandbox.project,
    env: { ...(env ?? sandbox.env) },
    stdio: ["ignore", stdout, stderr],
  });
  const onExit = (): void => endProcessTree(child.pid);
  process.once("exit", onExit);
  const timer = setTimeout(onExit, timeoutMs ?? 120_000);
  try {
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once("error", reject).once("exit", resolve),
    );
    const read = (name: string): string => readFileSync(join(folder, name), "utf8");
    return { code, stdout: read("stdout"), stderr: read("stderr") };
  } finally {
    clearTimeout(timer);
    process.off("exit", onExit);
    closeSync(stdout);
    closeSync(stderr);
  }
}

export interface Command {
  readonly binary: string;
  readonly args: readonly string[];
  readonly sandbox: Sandbox;
  /** Unset means the sandbox's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** After this long the command is ended; unset means two minutes. */
  readonly timeoutMs?: number;
}

export interface CommandResult {
  /** Null when the command was ended from outside. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
