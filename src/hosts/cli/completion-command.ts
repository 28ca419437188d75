import { Argument, Command } from "commander";
import { bashCompletion, fishCompletion, type ShellCommand, zshCompletion } from "./completion-script.ts";

/** `carryover completion`: a script that teaches a shell the commands and their options. */
export function completionCommand(): Command {
  return new Command("completion")
    .description("print a script that completes commands and options in a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SCRIPTS)))
    .addHelpText("after", EXAMPLES)
    .action((shell: string, _flags: unknown, command: Command) => {
      const commands = (command.parent?.commands ?? []).map(shellCommand);
      process.stdout.write(SCRIPTS[shell]?.(commands) ?? "");
    });
}

const EXAMPLES = `
Examples:
  carryover completion bash >> ~/.bashrc
  carryover completion zsh > "\${fpath[1]}/_carryover"
  carryover completion fish > ~/.config/fish/completions/carryover.fish`;

const SCRIPTS: Readonly<Record<string, (commands: readonly ShellCommand[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

function shellCommand(command: Command): ShellCommand {
  const visible = command.createHelp().visibleOptions(command);
  return {
    name: command.name(),
    description: command.description(),
    options: visible.map(({ long, description, argChoices }) => ({
      flag: long ?? "",
      description,
      values: argChoices ?? [],
    })),
    values: command.registeredArguments[0]?.argChoices ?? [],
  };
}
