import { Argument, Command } from "commander";

/** `carryover completion`: prints a script that completes commands and options in a shell. */
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

type ShellCommand = ReturnType<typeof shellCommand>;

/** What the scripts need to know about a command. */
function shellCommand(command: Command) {
  const visible = command.createHelp().visibleOptions(command);
  return {
    name: command.name(),
    description: command.description(),
    options: visible.map(({ long, description, argChoices }) => ({
      flag: long ?? "",
      description,
      values: argChoices ?? [],
    })),
    /** The choices of its first argument; empty if it is a file. */
    values: command.registeredArguments[0]?.argChoices ?? [],
  };
}

/** The script for bash; does not need the package bash-completion. */
function bashCompletion(commands: readonly ShellCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const cases = commands.map(({ name, options, values }) => {
    const flags = options.map(({ flag }) => flag).join(" ");
    const choices = options
      .filter((option) => option.values.length > 0)
      .map((option) => `      [[ $previous == ${option.flag} ]] && words="${option.values.join(" ")}"\n`);
    return `    ${name})\n      words="${[...values, flags].filter(Boolean).join(" ")}"\n${choices.join("")}      ;;\n`;
  });
  return `# carryover: completion for bash
_carryover() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  case "\${COMP_WORDS[1]}" in
${cases.join("")}  esac
  if [[ $COMP_CWORD -eq 1 ]]; then words="${names} --help --version"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ \${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _carryover carryover
`;
}

/** The script for zsh. */
function zshCompletion(commands: readonly ShellCommand[]): string {
  const names = commands.map(({ name, description }) => `    ${quoted(`${name}:${description}`)}`);
  const cases = commands.map(({ name, options, values }) => {
    const flags = options.map(
      (option) =>
        `        ${quoted(`${option.flag}[${option.description.replace(/[[\]:]/g, " ")}]${option.values.length > 0 ? `:value:(${option.values.join(" ")})` : ""}`)} \\`,
    );
    const rest = values.length > 0 ? `'1:value:(${values.join(" ")})'` : "'*:file:_files'";
    return `    ${name})\n      _arguments \\\n${flags.join("\n")}\n        ${rest}\n      ;;\n`;
  });
  return `#compdef carryover
_carryover() {
  local -a commands
  commands=(
${names.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _files
    return
  fi
  local command="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join("")}  esac
}
if [ "$funcstack[1]" = "_carryover" ]; then _carryover "$@"; else compdef _carryover carryover; fi
`;
}

/** The script for fish. */
function fishCompletion(commands: readonly ShellCommand[]): string {
  const lines = commands.flatMap(({ name, description, options, values }) => [
    `complete -c carryover -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
    ...values.map((value) => `complete -c carryover -n '__fish_seen_subcommand_from ${name}' -a ${value}`),
    ...options.map(
      (option) =>
        `complete -c carryover -n '__fish_seen_subcommand_from ${name}' -l ${option.flag.slice(2)} -d ${quoted(option.description)}${option.values.length > 0 ? ` -x -a ${quoted(option.values.join(" "))}` : ""}`,
    ),
  ]);
  return `# carryover: completion for fish\n${lines.join("\n")}\n`;
}

/** Quotes a word for any shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}
