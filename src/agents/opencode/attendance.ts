import { readFileSync } from "node:fs";

/** Whether a person is there to answer, by the arguments of OpenCode: not with `run`, nor with `github run` in a workflow. */
export function attendanceOf(args: readonly string[]): "attended" | "headless" {
  return HEADLESS.test(commandOf(args)) ? "headless" : "attended";
}

/** The command in the arguments; options that every command has may stand before it. */
function commandOf(args: readonly string[]): string {
  const words = args.filter((arg, index) => !arg.startsWith("-") && args[index - 1] !== "--log-level");
  return words.slice(0, 2).join(" ");
}

const HEADLESS = /^(?:run\b|github run$)/;

/**
 * What OpenCode was called with. A server of version 2 that serves one client alone (`--standalone`) is a program that the
 * client starts; only Linux tells what that one was called with, elsewhere nothing is known of it.
 */
export function programArguments({ argv, ppid }: Pick<NodeJS.Process, "argv" | "ppid">): readonly string[] {
  const own = argv.slice(2);
  if (!own.includes("--stdio")) return own;
  try {
    return readFileSync(`/proc/${ppid}/cmdline`, "utf8").split("\0").slice(1);
  } catch {
    return [];
  }
}
