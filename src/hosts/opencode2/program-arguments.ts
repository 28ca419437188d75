import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** What OpenCode was called with: a server that serves one client alone (`--standalone`) is a program that the client starts. */
export function programArguments({ argv, ppid }: Pick<NodeJS.Process, "argv" | "ppid">): readonly string[] {
  const own = argv.slice(2);
  return own.includes(OF_ONE_CLIENT) ? argumentsOf(ppid) : own;
}

const OF_ONE_CLIENT = "--stdio";

function argumentsOf(processId: number): readonly string[] {
  try {
    return readFileSync(`/proc/${processId}/cmdline`, "utf8").split("\0").slice(1);
  } catch {
    return askForArguments(processId);
  }
}

/** Where there is no `/proc`; sessions wait for it, so not for long. */
function askForArguments(processId: number): readonly string[] {
  try {
    const said = execFileSync("ps", ["-o", "args=", "-p", String(processId)], {
      encoding: "utf8",
      timeout: ASK_MS,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return said.split(/\s+/).slice(1);
  } catch {
    return [];
  }
}

const ASK_MS = 1_000;
