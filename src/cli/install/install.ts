import { Command, Option } from "commander";
import { CliError } from "../terminal/cli-error.ts";
import { CLAUDE_CODE } from "./claude-code.ts";
import { CODEX } from "./codex.ts";
import { copyFolder, folderFor, packagedFolder, removeFolder } from "./plugin-folder.ts";
import { findProgram, type HookProgram, type InstallPlace, runProgram } from "./run-program.ts";

/** `carryover install`: puts the plugin into an agent that runs hooks, by that agent's own commands. */
export function installCommand(): Command {
  return new Command("install")
    .description("install the plugin in Claude Code or Codex")
    .argument("<agent>", `the agent: ${Object.keys(PROGRAMS).join(" or ")}`)
    .option("--dry-run", "show what would be run and written, and change nothing")
    .addOption(new Option("--trust", "codex: trust the plugin's hooks now, not in its terminal"))
    .addHelpText("after", INSTALL_EXAMPLES)
    .action((agent: string, flags: InstallFlags) => install(programOf(agent), flags));
}

/** `carryover uninstall`: takes it out again. */
export function uninstallCommand(): Command {
  return new Command("uninstall")
    .description("take the plugin out of Claude Code or Codex again")
    .argument("<agent>", `the agent: ${Object.keys(PROGRAMS).join(" or ")}`)
    .option("--dry-run", "show what would be run and written, and change nothing")
    .action((agent: string, flags: InstallFlags) => uninstall(programOf(agent), flags));
}

const INSTALL_EXAMPLES = `
Examples:
  carryover install claude-code --dry-run    what it would run and write
  carryover install codex --trust            and trust its hooks`;

interface InstallFlags {
  readonly dryRun?: true;
  readonly trust?: true;
}

const PROGRAMS: Readonly<Record<string, HookProgram>> = { "claude-code": CLAUDE_CODE, codex: CODEX };

function programOf(agent: string): HookProgram {
  const program = PROGRAMS[agent];
  if (program !== undefined) return program;
  throw new CliError(`"${agent}" is no agent that runs hooks`, [
    `Choose from ${Object.keys(PROGRAMS).join(", ")}; OpenCode takes the plugin in its configuration.`,
  ]);
}

async function install(program: HookProgram, { dryRun, trust }: InstallFlags): Promise<void> {
  if (trust && program.trust === undefined)
    throw new CliError(`${program.title} asks for no trust of hooks`, ["Leave --trust out."]);
  const place = await placeOf(program);
  const commands = [
    ["plugin", "marketplace", "add", place.folder],
    ["plugin", program.addVerb, PLUGIN],
  ];
  say(`Copies the plugin to ${place.folder}`);
  for (const args of commands) say(`Runs ${program.command} ${args.join(" ")}`);
  say(...program.written(place));
  if (trust) say(...(program.trust?.written(place) ?? []));
  if (dryRun) return say("Nothing was changed (--dry-run).");
  await copyFolder(packagedFolder(), place.folder);
  await program.keepSettings(place, "install", async () => {
    for (const args of commands) await runProgram(place, args);
  });
  if (trust) await program.trust?.write(place);
  say("", ...program.next({ isTrusted: trust === true }));
}

async function uninstall(program: HookProgram, { dryRun }: InstallFlags): Promise<void> {
  const place = await placeOf(program);
  const commands = [
    ["plugin", program.removeVerb, PLUGIN],
    ["plugin", "marketplace", "remove", MARKET],
  ];
  for (const args of commands) say(`Runs ${program.command} ${args.join(" ")}`);
  say(`Deletes ${place.folder}`);
  if (dryRun) return say("Nothing was changed (--dry-run).");
  await program.keepSettings(place, "uninstall", async () => {
    // One that is not there is not there.
    for (const args of commands) await runProgram(place, args, { mayFail: true });
  });
  await program.trust?.remove(place);
  await removeFolder(place.folder);
  say(
    "",
    `${program.title} runs without Carryover from its next session on. What was kept stays: carryover purge.`,
  );
}

const MARKET = "carryover";
const PLUGIN = "carryover@carryover";

async function placeOf(program: HookProgram): Promise<InstallPlace> {
  const { env } = process;
  return { env, folder: folderFor(program.name, env), program: await findProgram(program, env) };
}

function say(...lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}
