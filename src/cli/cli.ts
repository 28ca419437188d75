import { Command, CommanderError } from "commander";
import { ConfigurationError } from "../text/check.ts";
import { compactCommand } from "./compact.ts";
import { completionCommand } from "./completion.ts";
import { doctorCommand } from "./doctor/doctor.ts";
import { evalCommand } from "./eval/eval.ts";
import { forkCommand } from "./fork.ts";
import { forksCommand } from "./forks.ts";
import { handoffCommand } from "./handoff/handoff.ts";
import { inspectCommand } from "./inspect/inspect.ts";
import { installCommand, uninstallCommand } from "./install/install.ts";
import { purgeCommand } from "./purge/purge.ts";
import { recallCommand } from "./rescue/recall.ts";
import { rescueCommand } from "./rescue/rescue.ts";
import { statsCommand } from "./stats.ts";
import { CliError, EXIT_CODES, findArgumentProblems } from "./terminal/cli-error.ts";
import { colorsFor } from "./terminal/output.ts";
import { undoCommand } from "./undo.ts";

/**
 * Runs the command line and returns its exit code; without a command it inspects.
 *
 * Each command is a file or a folder of this room and follows the same steps: parse flags, read sessions (`files/`) or
 * the plugin's stores (`opencode/`), call the engine, print a report or JSON (`terminal/`). A command throws a `CliError`
 * for what the user can correct; anything else that is thrown counts as a bug.
 */
export async function runCli(args: readonly string[], version: string): Promise<number> {
  const program = new Command("carryover")
    .description("What the model carries over to the next turn, the next window and the next agent.")
    .version(version)
    .addHelpText("after", HELP)
    .showHelpAfterError("(add --help for examples)")
    .exitOverride();
  for (const create of commandsFor(args))
    program.addCommand(create().exitOverride(), { isDefault: create === inspectCommand });
  try {
    const command = program.commands.find(
      (each) => each.name() === (COMMANDS.has(args[0] ?? "") ? args[0] : "inspect"),
    );
    const problems = command === undefined ? [] : findArgumentProblems(command, args);
    // One problem alone the parser explains with the help of the command.
    if (problems.length > 1) throw new ConfigurationError(problems);
    await program.parseAsync([...args], { from: "user" });
    return EXIT_CODES.done;
  } catch (error) {
    return printError(error);
  }
}

/** In the order of the help. */
const COMMANDS: ReadonlyMap<string, () => Command> = new Map([
  ["inspect", inspectCommand],
  ["fork", forkCommand],
  ["compact", compactCommand],
  ["handoff", handoffCommand],
  ["rescue", rescueCommand],
  ["recall", recallCommand],
  ["stats", statsCommand],
  ["eval", evalCommand],
  ["forks", forksCommand],
  ["undo", undoCommand],
  ["install", installCommand],
  ["uninstall", uninstallCommand],
  ["doctor", doctorCommand],
  ["purge", purgeCommand],
  ["completion", completionCommand],
]);

/** Only the command that is named; all of them for help, suggestions and the completion of shells. */
function commandsFor([first = "inspect"]: readonly string[]): readonly (() => Command)[] {
  const named = first === "completion" ? undefined : COMMANDS.get(first);
  return named === undefined ? [...COMMANDS.values()] : [named];
}

const HELP = `
Examples:
  carryover                                  what fills the window of the newest session on this machine
  carryover inspect session.jsonl            the same for a file
  carryover fork session.json --text         what a child agent would inherit
  carryover compact session.jsonl            what a compaction would sum up, keep and clear
  carryover handoff --to codex               the newest session goes on in another agent
  carryover install claude-code              the plugin for Claude Code, or codex
  carryover rescue                           the newest session cannot go on: what is wrong, and one that can
  carryover stats ~/.claude/projects         totals and the worst offenders of a folder
  carryover completion bash >> ~/.bashrc     completion for the shell

Exit codes: 0 done, 1 a fault of Carryover, 2 a wrong argument or a file that cannot be read,
3 a model or another program did not do its part, 130 stopped with Ctrl-C.`;

/** Prints an error and returns the exit code for it. */
function printError(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.wrong;
  const colors = colorsFor(process.stderr);
  if (error instanceof CliError || error instanceof ConfigurationError) {
    process.stderr.write(`${colors.red("error")}: ${error.message}\n`);
    for (const line of error instanceof CliError ? error.advice : []) process.stderr.write(`${line}\n`);
    return error instanceof CliError ? error.exitCode : EXIT_CODES.wrong;
  }
  process.stderr.write(
    `${colors.red("fault")}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.stderr.write("This is a fault of Carryover. Please report it with the command you ran.\n");
  return EXIT_CODES.fault;
}
