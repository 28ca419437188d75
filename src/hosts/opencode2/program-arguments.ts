import { readFileSync } from "node:fs";

/**
 * What OpenCode was called with: a server that serves one client alone (`--standalone`) is a program that the client starts.
 * Only Linux tells what that one was called with; elsewhere nothing is known of it.
 */
export function programArguments({ argv, ppid }: Pick<NodeJS.Process, "argv" | "ppid">): readonly string[] {
  const own = argv.slice(2);
  if (!own.includes(OF_ONE_CLIENT)) return own;
  try {
    return readFileSync(`/proc/${ppid}/cmdline`, "utf8").split("\0").slice(1);
  } catch {
    return [];
  }
}

const OF_ONE_CLIENT = "--stdio";
