import { existsSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { ConfigurationError, nearest } from "../text/check.ts";
import { CliError, EXIT_CODES, systemError, TOO_MANY } from "./terminal/cli-error.ts";
import { colorsFor } from "./terminal/output.ts";
import { wrapped } from "./terminal/wrap.ts";

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
  for (const command of await commandsFor(args))
    program.addCommand(command.exitOverride(), { isDefault: command.name() === "inspect" });
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
    return printError(mistypedCommand(error, args) ?? systemError(error) ?? error);
  }
}

/** What is wrong with each option on a command line; the parser itself stops at the first problem. */
export function findArgumentProblems(command: Command, args: readonly string[]): readonly string[] {
  const problems: string[] = [];
  const known = command.options.flatMap(({ long }) => (long ? [long] : []));
  for (let index = 0; index < args.length && args[index] !== "--"; index++) {
    const [, flag = "", inline] = /^(--[^=]+)(?:=(.*))?$/s.exec(args[index] ?? "") ?? [];
    if (flag === "--help" || flag === "--version") return [];
    const option = command.options.find(({ long }) => long === flag);
    if (option === undefined) {
      if (flag !== "") problems.push(`${flag} is not an option; ${nearest(flag, known)}`);
      continue;
    }
    if (!option.required) continue;
    const value = inline ?? args[++index];
    if (value === undefined) problems.push(`${flag} is missing its value; give ${option.flags}`);
    else
      problems.push(
        ...problemsOf(() => option.parseArg?.(value, undefined as never), `${flag} is "${value}"`),
      );
  }
  return problems;
}

function problemsOf(parse: () => unknown, what: string): readonly string[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return [
      `${what}; ${error.message.replace(/\.$/, "").replace(/^[A-Z]/, (letter) => letter.toLowerCase())}`,
    ];
  }
}

/** A word that is no command was taken for a file: where there is none, the command that was most likely meant. */
function mistypedCommand(error: unknown, [word = ""]: readonly string[]): CliError | undefined {
  if (!(error instanceof CliError) || COMMANDS.has(word) || !/^[a-z][a-z-]*$/.test(word)) return undefined;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  if (code !== "ENOENT" && !(code === TOO_MANY && !existsSync(word))) return undefined;
  const meant = nearest(word, [...COMMANDS.keys()]).replace(/^./, (letter) => letter.toUpperCase());
  return new CliError(`There is no command, no file and no session ${word}`, [meant]);
}

/** In the order of the help; each is a part of the bundle that is loaded with the command that is named. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ["inspect", async () => (await import("./inspect/inspect.ts")).inspectCommand()],
  ["fork", async () => (await import("./fork.ts")).forkCommand()],
  ["compact", async () => (await import("./compact/compact.ts")).compactCommand()],
  ["handoff", async () => (await import("./handoff/handoff.ts")).handoffCommand()],
  ["rescue", async () => (await import("./rescue/rescue.ts")).rescueCommand()],
  ["recall", async () => (await import("./rescue/recall.ts")).recallCommand()],
  ["cost", async () => (await import("./cost.ts")).costCommand()],
  ["stats", async () => (await import("./stats.ts")).statsCommand()],
  ["eval", async () => (await import("./eval/eval.ts")).evalCommand()],
  ["forks", async () => (await import("./forks.ts")).forksCommand()],
  ["undo", async () => (await import("./undo.ts")).undoCommand()],
  ["install", async () => (await import("./install/install.ts")).installCommand()],
  ["uninstall", async () => (await import("./install/install.ts")).uninstallCommand()],
  ["doctor", async () => (await import("./doctor/doctor.ts")).doctorCommand()],
  ["purge", async () => (await import("./purge/purge.ts")).purgeCommand()],
  ["completion", async () => (await import("./completion.ts")).completionCommand()],
]);

/** Only the command that is named; all of them for help, suggestions and the completion of shells. */
async function commandsFor(args: readonly string[]): Promise<readonly Command[]> {
  const [first] = args;
  if (first === "--version") return [];
  if (first === undefined || (first.startsWith("--") && first !== "--help" && isBare(args)))
    return [(await import("./inspect/inspect.ts")).inspectCommand("overview")];
  const named = first === "completion" ? undefined : COMMANDS.get(first);
  return Promise.all((named === undefined ? [...COMMANDS.values()] : [named]).map((create) => create()));
}

/** Nothing was named, or only how to show it: an overview is what most likely helps. */
function isBare(args: readonly string[]): boolean {
  const isFlag = (arg: string, index: number): boolean =>
    arg.startsWith("--") || ["--window", "--port"].includes(args[index - 1] ?? "");
  return args.every(isFlag) && !args.includes("--top");
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
  carryover cost                             what the newest session cost, and why the cache was missed
  carryover stats ~/.claude/projects         totals and the worst offenders of a folder
  carryover completion bash >> ~/.bashrc     completion for the shell

Exit codes: 0 done, 1 a fault of Carryover, 2 a wrong argument or a file that cannot be read,
3 a model or another program did not do its part, 130 stopped with Ctrl-C.`;

/** Prints an error and returns the exit code for it. */
function printError(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.wrong;
  const colors = colorsFor(process.stderr);
  if (error instanceof CliError || error instanceof ConfigurationError) {
    const lines = [
      `${colors.red("error")}: ${error.message}`,
      ...(error instanceof CliError ? error.advice : []),
    ];
    process.stderr.write(`${wrapped(lines.join("\n"), process.stderr)}\n`);
    return error instanceof CliError ? error.exitCode : EXIT_CODES.wrong;
  }
  process.stderr.write(
    `${colors.red("fault")}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.stderr.write("This is a fault of Carryover. Please report it with the command you ran.\n");
  return EXIT_CODES.fault;
}
