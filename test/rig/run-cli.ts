import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DESCRIBED_COMMANDS, parseChecked } from "./check-json.ts";

export interface CliRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliRunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** Sent Ctrl-C once this was said on standard error. */
  readonly stopAt?: string;
}

/**
 * A way to run the built command, with a home in which there is nothing of this machine. What it prints with `--json` must be
 * what the published schema says, without any other field.
 */
export function createCliRunner(
  cli: () => string,
): (args: readonly string[], options?: CliRunOptions) => Promise<CliRun> {
  const home = mkdtempSync(join(tmpdir(), "carryover-home-"));
  return (args, { input = "", env = {}, stopAt } = {}) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [cli(), ...args], {
        env: { PATH: process.env.PATH, HOME: home, ...env },
        stdio: ["pipe", "pipe", "pipe"],
      });
      let [stdout, stderr] = ["", ""];
      let isStopped = false;
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text;
        if (stopAt !== undefined && !isStopped && stderr.includes(stopAt)) isStopped = child.kill("SIGINT");
      });
      child.once("error", reject).once("close", (status) => {
        try {
          if (args.includes("--json")) checkPrinted(args, stdout);
          resolve({ status, stdout, stderr });
        } catch (error) {
          reject(error);
        }
      });
      // A command that fails early does not read what it is given.
      child.stdin.on("error", () => {}).end(input);
    });
}

/** Without a command it inspects; a run that failed has printed nothing. */
function checkPrinted([named = ""]: readonly string[], stdout: string): void {
  if (stdout.startsWith("{")) parseChecked(DESCRIBED_COMMANDS.includes(named) ? named : "inspect", stdout);
}
