import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Command, Option } from "commander";
import { CliError } from "../terminal/cli-error.ts";
import { CLAUDE_CODE } from "./claude-code.ts";
import { CODEX } from "./codex.ts";
import { agentProgram, type HookProgram, type InstallPlace, PLUGIN, runProgram } from "./hook-program.ts";
import {
  copyFolder,
  folderFor,
  noteUser,
  packagedFolder,
  removeFolder,
  removeMade,
  usersOf,
} from "./plugin-folder.ts";

/** `carryover install`: puts the plugin into an agent that runs hooks, by that agent's own commands. */
export function installCommand(): Command {
  return new Command("install")
    .description("install the plugin in Claude Code or Codex")
    .argument("<agent>", `the agent: ${Object.keys(PROGRAMS).join(" or ")}`)
    .option("--dry-run", "show what would be run and written, and change nothing")
    .addOption(new Option("--trust", "codex: trust the plugin's hooks now, not in its terminal"))
    .addOption(
      new Option("--status-line", "claude-code: show what was done in its status line, if you have none"),
    )
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
  readonly statusLine?: true;
}

const PROGRAMS: Readonly<Record<string, HookProgram>> = { "claude-code": CLAUDE_CODE, codex: CODEX };

/** The agent of this name; for one that runs no hooks it throws what is done there instead. */
export function programOf(agent: string): HookProgram {
  const program = Object.hasOwn(PROGRAMS, agent) ? PROGRAMS[agent] : undefined;
  if (program !== undefined) return program;
  const advice = Object.hasOwn(OTHERS, agent) ? OTHERS[agent] : undefined;
  if (advice !== undefined) throw new CliError(`Carryover does not do that for ${agent}`, [advice]);
  throw new CliError(`"${agent}" is no agent that Carryover knows`, [
    `Choose from ${[...Object.keys(PROGRAMS), ...Object.keys(OTHERS)].join(", ")}.`,
  ]);
}

const PACKAGE = dirname(dirname(packagedFolder()));
const OTHERS: Readonly<Record<string, string>> = {
  opencode: 'OpenCode takes the plugin in its configuration: "plugin": ["carryover"] in opencode.json.',
  pi: `pi takes the package itself: pi install ${PACKAGE}; pi list shows it, pi remove ${PACKAGE} takes it out (docs/pi.md).`,
  openclaw: "OpenClaw takes the plugin in its configuration: plugins.slots.contextEngine (docs/openclaw.md).",
};

/** Where an installation reads and writes, where it is not this process's own. */
interface InstallSetup {
  readonly env?: InstallPlace["env"];
  /** The plugin folder that is copied. */
  readonly from?: string;
}

export async function install(
  program: HookProgram,
  { dryRun, trust, statusLine }: InstallFlags,
  { env = process.env, from = packagedFolder() }: InstallSetup = {},
): Promise<void> {
  if (trust && program.trust === undefined)
    throw new CliError(`${program.title} asks for no trust of hooks`, ["Leave --trust out."]);
  if (statusLine && program.statusLine === undefined)
    throw new CliError(`${program.title} shows no status line of a program`, ["Leave --status-line out."]);
  const place = await placeOf(program, env);
  const commands = [
    ["plugin", "marketplace", "add", place.folder],
    ["plugin", program.addVerb, PLUGIN],
    ...(program.updateVerb === undefined ? [] : [["plugin", program.updateVerb, PLUGIN]]),
  ];
  say(`Copies the plugin to ${place.folder}`);
  for (const args of commands) say(`Runs ${program.command} ${args.join(" ")}`);
  say(...program.written(place));
  if (trust) say(...(program.trust?.written(place) ?? []));
  if (statusLine) say(...(program.statusLine?.written(place) ?? []));
  if (dryRun) return say("Nothing was changed (--dry-run).");
  const isNew = !existsSync(place.folder);
  await copyFolder(from, place.folder);
  await noteUser(place.folder, resolve(program.settings(env)));
  await program.prepare?.(place);
  try {
    await program.keepSettings(place, "install", async () => {
      for (const args of commands) await runProgram(place, args);
    });
  } catch (error) {
    if (isNew) await takeOut(program, place);
    throw error;
  }
  if (trust) await program.trust?.write(place);
  const shown = statusLine ? await program.statusLine?.write(place) : undefined;
  say("", ...program.next({ isTrusted: trust === true }));
  if (shown === "theirs")
    say(
      "You have a status line of your own, which stays; docs/claude-code.md says how it can show ours too.",
    );
  else if (shown === undefined && program.statusLine !== undefined)
    say(`What it did can stand in the status line: carryover install ${program.name} --status-line`);
}

export async function uninstall(
  program: HookProgram,
  { dryRun }: InstallFlags,
  { env = process.env }: InstallSetup = {},
): Promise<void> {
  const place = await placeOf(program, env);
  for (const args of removeCommands(program)) say(`Runs ${program.command} ${args.join(" ")}`);
  const own = resolve(program.settings(env));
  const usual = program.settings({ ...env, [program.settingsVariable]: undefined });
  const others = (await usersOf(place.folder, [usual])).filter((file) => file !== own);
  if (others.length > 0) say(`Leaves ${place.folder}, which is named in ${others.join(", ")} too`);
  else say(`Deletes ${place.folder}`);
  if (dryRun) return say("Nothing was changed (--dry-run).");
  await takeOut(program, place, { keepFolder: others.length > 0 });
  say(
    "",
    `${program.title} runs without Carryover from its next session on. What was kept stays: carryover purge.`,
    `An open session may go on calling it in vain, and say so each time: start it anew${program.name === "claude-code" ? ", or /reload-plugins there" : ""}.`,
  );
}

async function takeOut(
  program: HookProgram,
  place: InstallPlace,
  { keepFolder = false } = {},
): Promise<void> {
  await program.keepSettings(place, "uninstall", async () => {
    // One that is not there is not there.
    for (const args of removeCommands(program)) await runProgram(place, args, { mayFail: true });
  });
  await program.trust?.remove(place);
  await program.statusLine?.remove(place);
  await removeMade(place.folder, resolve(program.settings(place.env)));
  if (!keepFolder) await removeFolder(place.folder);
}

const removeCommands = ({ removeVerb }: HookProgram): readonly (readonly string[])[] => [
  ["plugin", removeVerb, PLUGIN],
  ["plugin", "marketplace", "remove", "carryover"],
];

async function placeOf(program: HookProgram, env: InstallPlace["env"]): Promise<InstallPlace> {
  const fault = await program.fault?.(env);
  if (fault !== undefined) throw new CliError(fault.what, [fault.advice]);
  const path = agentProgram(program, env);
  if (path === undefined)
    throw new CliError(`${program.title} is not installed: there is no ${program.command} on the PATH`, [
      `Install it first, or name its program in ${program.variable}.`,
    ]);
  return { env, folder: folderFor(program.name, env), program: path };
}

function say(...lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}
