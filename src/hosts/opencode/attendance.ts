/** Whether somebody is there to answer, by the arguments of OpenCode: with `run`, and `github run` in a workflow, nobody is. */
export function attendanceOf(args: readonly string[]): "attended" | "headless" {
  return HEADLESS.test(commandOf(args)) ? "headless" : "attended";
}

/** The command in the arguments; options that every command has may stand before it. */
function commandOf(args: readonly string[]): string {
  const words = args.filter((arg, index) => !arg.startsWith("-") && args[index - 1] !== "--log-level");
  return words.slice(0, 2).join(" ");
}

const HEADLESS = /^(?:run\b|github run$)/;
