import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliRunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with what came on standard error so far. */
  readonly onError?: (stderr: string, kill: (signal: NodeJS.Signals) => void) => void;
}

/** A way to run the built command, with a home in which there is nothing of this machine. */
export function createCliRunner(
  cli: () => string,
): (args: readonly string[], options?: CliRunOptions) => Promise<CliRun> {
  const home = mkdtempSync(join(tmpdir(), "carryover-home-"));
  return (args, { input = "", env = {}, onError } = {}) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [cli(), ...args], {
        env: { PATH: process.env.PATH, HOME: home, ...env },
        stdio: ["pipe", "pipe", "pipe"],
      });
      let [stdout, stderr] = ["", ""];
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text;
        onError?.(stderr, (signal) => child.kill(signal));
      });
      child.once("error", reject).once("close", (status) => resolve({ status, stdout, stderr }));
      // A command that fails early does not read what it is given.
      child.stdin.on("error", () => {}).end(input);
    });
}
