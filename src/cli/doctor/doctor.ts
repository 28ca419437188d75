import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Command } from "commander";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { readLoadedNote, VERSION } from "../../plugin/control.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { programOf } from "../install/install.ts";
import {
  type HostConfiguration,
  isCarryover,
  readHostConfiguration,
  readTerminalConfiguration,
} from "../opencode/configuration.ts";
import { OPENCODE_PROGRAMS } from "../opencode/sessions.ts";
import { findPluginFolders, findStoreOption, STORE_OPTION } from "../opencode/with-stores.ts";
import { CliError } from "../terminal/cli-error.ts";
import { colorsFor, printJson } from "../terminal/output.ts";
import { askHost, type HostAnswer } from "./ask-host.ts";
import { checkPlugin } from "./check-plugin.ts";
import { checkSettings, checkTerminal } from "./check-settings.ts";
import { checkDatabase, checkStore } from "./check-store.ts";
import { type Finding, renderFindings } from "./finding.ts";
import { diagnoseHookAgent } from "./hook-agents.ts";
import { checkOpencode2, isOpencode2 } from "./opencode2.ts";
import { runSelfTest } from "./self-test.ts";

/** `carryover doctor`: checks whether the plugin works here, and says what to do if it does not. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("check an agent, the plugin, its settings and its store, and that our edits reach the model")
    .argument("[agent]", "opencode, claude-code or codex", "opencode")
    .option("--json", "print { findings } for a program to read")
    .option(
      "--opencode <path>",
      "the program of OpenCode; that of OPENCODE_BIN, or the one on PATH, when unset",
    )
    .option(...STORE_OPTION)
    .option("--no-self-test", "do not run OpenCode")
    .addHelpText("after", EXAMPLES)
    .action(runDoctor);
}

const EXAMPLES = `
Examples:
  carryover doctor
  carryover doctor claude-code
  carryover doctor codex
  carryover doctor --no-self-test --json | jq '.findings[] | select(.level == "problem")'

OpenCode is started twice: in this folder, as a server for this machine only, to be asked which tools it has; and for the
self-test in a folder that is thrown away, with a model of ours. Claude Code and Codex are asked which plugins they have.
Nothing is sent to your provider.
Exit codes: 0 nothing has to be done, 2 something has, 1 a fault of Carryover.`;

interface DoctorFlags {
  readonly json?: true;
  readonly opencode?: string;
  readonly store?: string;
  readonly selfTest: boolean;
}

async function runDoctor(agent: string, flags: DoctorFlags): Promise<void> {
  const hooked = agent === "opencode" ? undefined : programOf(agent);
  const onWait = (): void => {
    const title = hooked?.title ?? "OpenCode";
    if (!flags.json) process.stderr.write(`Running ${title}; this takes some seconds.\n`);
  };
  const setup = { ...flags, directory: process.cwd(), env: process.env, onWait };
  const findings = await (hooked === undefined ? diagnose(setup) : diagnoseHookAgent(hooked, setup));
  if (flags.json) printJson({ findings });
  else process.stdout.write(renderFindings(findings, colorsFor(process.stdout)));
  const problems = findings.filter(({ level }) => level === "problem").length;
  if (problems > 0)
    throw new CliError(problems === 1 ? "1 thing has to be done" : `${problems} things have to be done`);
}

/** Everything that is found; nothing but `ok` and notes only where OpenCode said that it has our tools, or was not asked. */
export async function diagnose(setup: Diagnosis): Promise<readonly Finding[]> {
  const { directory, env } = setup;
  const configuration = await readHostConfiguration({ directory, env });
  const named = setup.opencode ?? env.OPENCODE_BIN;
  const names = named ? [named] : OPENCODE_PROGRAMS;
  const programs = await Promise.all(names.map((name) => findProgram(name, env.PATH ?? "")));
  const binary = programs.find((file) => file !== undefined);
  const store = await findStoreOption(setup.store);
  const folders = await findPluginFolders(store);
  const host = await checkHost(binary);
  // Before OpenCode runs, which makes the store.
  const kept = [
    ...(store !== undefined && isDatabase(store) ? await checkDatabase(store) : await checkStore(folders)),
    await describeLastStart(folders.root),
  ];
  const isAsked = setup.selfTest && binary !== undefined && host.every(({ level }) => level !== "problem");
  if (isAsked) setup.onWait?.();
  // Before the plugin is looked for, since OpenCode installs what is named and not there yet.
  const isSecond = binary === undefined ? isForSecond(configuration) : isSecondVersion(host);
  const answer = isAsked ? await askHost({ binary, directory, env, major: isSecond ? 2 : 1 }) : undefined;
  const notAsked = notAskedFor(setup.selfTest);
  if (isSecond) {
    const plugin = await checkOpencode2({ configuration, directory, env, binary, version: VERSION });
    const found = [
      ...checkNode(process.versions.node),
      ...host,
      ...checkSettings({ ...configuration, plugins: configuration.plugins2 }, env),
      ...plugin.findings,
      ...kept,
    ];
    if (answer === undefined) return [...found, notAsked];
    // It calls a plugin active that has started nothing: what cannot work has no tools.
    const offers = answer.status === "answered" && plugin.entry === undefined ? { tools: [] } : {};
    return finish({ ...answer, ...offers }, { found, entry: plugin.entry, host: "opencode2" });
  }
  const plugin = await checkPlugin({ configuration, directory, env, binary, version: VERSION });
  const terminal =
    plugin.plugin === undefined
      ? []
      : await checkTerminal(plugin.plugin, {
          configuration: await readTerminalConfiguration({ directory, env }),
          env,
        });
  const findings = [
    ...checkNode(process.versions.node),
    ...host,
    ...checkSettings(configuration, env),
    ...plugin.findings,
    ...terminal,
    ...kept,
  ];
  if (!isAsked || answer === undefined) return [...findings, notAsked];
  return finish(answer, { found: findings, entry: plugin.entry, host: "opencode" });

  /** What OpenCode itself says, and the self-test where it has our tools. */
  async function finish(said: HostAnswer, { found, entry, host }: Finish): Promise<readonly Finding[]> {
    const registered = checkAnswer(said, { before: found, host });
    const tested = registered.level === "ok" ? entry : undefined;
    const played =
      tested === undefined || binary === undefined
        ? []
        : await runSelfTest({ binary, plugin: urlOf(tested), host });
    return [...found, registered, ...checkAgents(said, found), ...played];
  }
}

interface Finish {
  readonly found: readonly Finding[];
  /** The plugin's file. */
  readonly entry: string | undefined;
  readonly host: "opencode" | "opencode2";
}

interface Diagnosis {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly opencode?: string;
  readonly store?: string;
  /** Whether OpenCode is run. */
  readonly selfTest: boolean;
  /** Called before something that takes seconds. */
  readonly onWait?: () => void;
}

const urlOf = (path: string): string => (path.startsWith("file:") ? path : pathToFileURL(resolve(path)).href);

function notAskedFor(isWanted: boolean): Finding {
  return {
    check: "registered",
    level: "note",
    what: "OpenCode was not asked whether it has our tools",
    advice: isWanted ? "Do what stands above, then run this again." : "Leave out --no-self-test.",
  };
}

const isSecondVersion = (host: readonly Finding[]): boolean =>
  host.some(({ check }) => check === SECOND_VERSION);

/** True for a configuration that only OpenCode 2 reads the plugin from. */
function isForSecond({ plugins, plugins2, pairs }: HostConfiguration): boolean {
  return !plugins.some(isCarryover) && [...plugins2, ...pairs].some(isCarryover);
}

/** What OpenCode itself says decides, whatever was found before. */
function checkAnswer(answer: HostAnswer, { before, host }: AnswerPlace): Finding {
  const check = "registered";
  if (answer.status === "refused")
    return {
      check,
      level: "problem",
      what: `OpenCode does not work in this folder: ${answer.reason}`,
      advice: "Correct what it names, or run `opencode debug config` to see it again.",
    };
  const missing = FORK_OWN_TOOLS.filter((tool) => !answer.tools.includes(tool));
  if (missing.length === 0)
    return { check, level: "ok", what: `OpenCode has ${FORK_OWN_TOOLS.join(", ")} in this folder` };
  const said = answer.printed
    .join("")
    .split("\n")
    .filter((line) => /level=(?:ERROR|WARN)/.test(line) && /plugin|carryover/i.test(line))
    .map((line) => line.replace(/^.*?message=/, ""))
    .slice(-3);
  if (answer.failure !== undefined) said.push(answer.failure);
  const isKnown = before.some(({ level }) => level === "problem");
  return {
    check,
    level: "problem",
    what: `OpenCode does not have ${missing.join(", ")} in this folder${said.length > 0 ? `; it says: ${said.join("; ")}` : ""}`,
    advice: isKnown
      ? "Do what stands above, then run this again."
      : `Nothing above explains it. Look for the plugin in OpenCode's log: ${LOGS[host]}`,
  };
}

interface AnswerPlace {
  readonly before: readonly Finding[];
  readonly host: Finish["host"];
}

const LOGS: Readonly<Record<Finish["host"], string>> = {
  opencode: "opencode serve --print-logs --log-level DEBUG",
  opencode2: "~/.local/share/opencode/log",
};

/** Tools that are there and that no agent, or not every agent, is offered. */
function checkAgents(answer: HostAnswer, before: readonly Finding[]): Finding[] {
  if (answer.status === "refused") return [];
  const { agents } = answer;
  const isKnown = (tool: string): boolean =>
    before.some(({ check, what }) => check === "tools" && what.includes(` ${tool} `));
  return FORK_OWN_TOOLS.filter((tool) => answer.tools.includes(tool) && !isKnown(tool)).flatMap(
    (tool): Finding[] => {
      const without = agents.filter(({ refused }) => refused.includes(tool)).map(({ name }) => name);
      if (without.length === 0) return [];
      const isNobody = without.length === agents.length;
      return [
        {
          check: "tools",
          level: isNobody ? "problem" : "note",
          what: isNobody
            ? `no agent is offered the tool ${tool}: permissions hide it`
            : `the tool ${tool} is hidden from ${without.join(", ")} by permissions`,
          advice: `Add "permission": { "${tool}": "allow" } behind the rule that denies it, or leave it so.`,
        },
      ];
    },
  );
}

async function describeLastStart(root: string): Promise<Finding> {
  const note = await readLoadedNote(root);
  const what =
    note === undefined
      ? "the plugin has not run on this machine yet"
      : `the plugin ran last on ${new Date(note.atMs).toISOString()} as version ${note.version} in ${note.directory}`;
  return { check: "last-start", level: "ok", what };
}

/** Says when this program runs in a Node that is older than the package asks for. */
export function checkNode(version: string): Finding[] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return [];
  return [
    {
      check: "node",
      level: "problem",
      what: `this is Node ${version}; carryover needs 20.19 or newer`,
      advice: "Install a newer Node. The plugin itself runs inside OpenCode and does not need it.",
    },
  ];
}

/** The version of OpenCode that the plugin is tested with. */
const TESTED_OPENCODE_VERSION = "1.18.33";

export async function checkHost(binary: string | undefined): Promise<Finding[]> {
  const check = "opencode";
  const advice = `Install it (version 1: npm i -g opencode-ai@${TESTED_OPENCODE_VERSION}; version 2: https://opencode.ai), or name it with --opencode or OPENCODE_BIN.`;
  if (binary === undefined)
    return [
      {
        check,
        level: "problem",
        what: "neither opencode nor opencode2 is on PATH, or not executable",
        advice,
      },
    ];
  const version = await promisify(execFile)(binary, ["--version"], { timeout: VERSION_MS }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
  if (version === undefined)
    return [{ check, level: "problem", what: `${binary} does not say its version`, advice }];
  if (version === TESTED_OPENCODE_VERSION)
    return [{ check, level: "ok", what: `OpenCode ${version}, the tested version (${binary})` }];
  const major = Number(/^\D*(\d+)/.exec(version)?.[1]);
  if (major > 1 || (major !== 1 && (await isOpencode2(binary))))
    return [
      {
        check: SECOND_VERSION,
        level: "note",
        what: `OpenCode ${/\d+\.\S+/.exec(version)?.[0] ?? version}; tried is a build of its public branch v2 of August 2026 (${binary})`,
        advice: "If it has our tools (below), all is well; if not, please report it with this version.",
      },
    ];
  if (major !== 1)
    return [
      { check, level: "problem", what: `OpenCode ${version} does not load this plugin (${binary})`, advice },
    ];
  return [
    {
      check,
      level: "note",
      what: `OpenCode ${version}; tested is ${TESTED_OPENCODE_VERSION} (${binary})`,
      advice: "If the self-test passes, all is well.",
    },
  ];
}

const VERSION_MS = 60_000;

/** The check of a program of version 2 or later. */
const SECOND_VERSION = "opencode-2";

/** Finds a program as a shell does. */
async function findProgram(name: string, path: string): Promise<string | undefined> {
  const endings = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  const folders = /[/\\]/.test(name) ? [process.cwd()] : path.split(delimiter);
  for (const folder of folders) {
    for (const ending of endings) {
      const file = isAbsolute(name) ? `${name}${ending}` : join(folder, `${name}${ending}`);
      const isThere = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isThere) return file;
    }
  }
  return undefined;
}
