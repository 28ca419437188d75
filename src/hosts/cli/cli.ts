import { Command, CommanderError } from "commander";
import { ConfigurationError } from "../../text/configuration-error.ts";
import { CliError } from "./cli-error.ts";
import { colorsFor } from "./colors.ts";
import { doctorCommand } from "./doctor-command.ts";
import { evalCommand } from "./eval-command.ts";
import { forkCommand } from "./fork-command.ts";
import { forksCommand } from "./forks-command.ts";
import { undoCommand } from "./undo-command.ts";

/** Runs the command line and gives its exit code: 0 done, 1 a fault of ours, 2 something the user can put right. */
export async function runCli(args: readonly string[], version: string): Promise<number> {
  const program = new Command("carryover")
    .description("What the model carries over to the next turn, the next window and the next agent.")
    .version(version)
    .addCommand(forkCommand())
    .addCommand(evalCommand())
    .addCommand(forksCommand())
    .addCommand(undoCommand())
    .addCommand(doctorCommand())
    .showHelpAfterError("(add --help for examples)")
    .exitOverride();
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const colors = colorsFor(process.stderr);
  if (error instanceof CliError || error instanceof ConfigurationError) {
    process.stderr.write(`${colors.red("error")}: ${error.message}\n`);
    for (const line of error instanceof CliError ? error.advice : []) process.stderr.write(`${line}\n`);
    return 2;
  }
  process.stderr.write(
    `${colors.red("fault")}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.stderr.write("This is a fault of Carryover. Please report it with the command you ran.\n");
  return 1;
}
