import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { findProgram, isNodeSupported, OLDEST_NODE, runToEnd } from "../../agents/programs.ts";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { readLoadedNote } from "../../plugin/loaded-notice.ts";
import {
  type HostConfiguration,
  isCarryover,
  readHostConfiguration,
  readTerminalConfiguration,
  readTerminalPlugins,
  type TerminalPlugins,
} from "../opencode/configuration.ts";
import { OPENCODE_PROGRAMS, runToFile } from "../opencode/sessions.ts";
import { findPluginFolders, findStoreOption } from "../opencode/with-stores.ts";
import { askHost, type HostAnswer } from "./ask-host.ts";
import { type Check, type Finding, hasProblem, note, ok, problem, runChecks, type Verdict } from "./check.ts";
import { type CheckedPlugin, checkPlugin } from "./check-plugin.ts";
import { SETTINGS_CHECKS } from "./check-settings.ts";
import { checkStore } from "./check-store.ts";
import { checkTerminal, checkTerminal2 } from "./check-terminal.ts";
import type { OpencodeHost } from "./find-plugin.ts";
import { runSelfTest } from "./self-test.ts";

/** Whether the plugin works in OpenCode; what OpenCode itself says decides. */
export async function diagnoseOpencode(setup: OpencodeDiagnosis): Promise<readonly Finding[]> {
  return runChecks(CHECKS, await gatherFacts(setup));
}

export interface OpencodeDiagnosis {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly opencode?: string | undefined;
  readonly store?: string | undefined;
  /** Whether OpenCode is run. */
  readonly selfTest: boolean;
  /** Called before something that takes seconds. */
  readonly onWait?: () => void;
}

const CHECKS: readonly Check<OpencodeFacts>[] = [
  {
    check: "node",
    run: () =>
      isNodeSupported(process.versions.node)
        ? undefined
        : problem(`this is Node ${process.versions.node}; carryover needs ${OLDEST_NODE} or newer`),
    advice: "Install a newer Node. The plugin itself runs inside OpenCode and does not need it.",
  },
  { check: "opencode", run: ({ program }) => program },
  ...SETTINGS_CHECKS,
  { check: "configured", run: ({ plugin }) => plugin.verdicts },
  { check: "terminal", run: terminalVerdicts },
  { check: "store", run: ({ kept }) => kept },
  { check: "last-start", run: ({ lastStart }) => lastStart },
  { check: "registered", run: checkAnswer },
  { check: "tools", run: checkAgents },
  { check: "self-test", run: playConversation },
];

/** What the checks look at; for the settings, the configuration of the version that is there. */
interface OpencodeFacts extends OpencodeDiagnosis, HostConfiguration {
  readonly host: OpencodeHost;
  readonly binary: string | undefined;
  readonly program: Verdict;
  /** What OpenCode 2's terminal loads; undefined for OpenCode 1. */
  readonly terminal: TerminalPlugins | undefined;
  readonly plugin: CheckedPlugin;
  readonly kept: readonly Verdict[];
  readonly lastStart: Verdict;
  /** Undefined where OpenCode was not asked. */
  readonly answer: HostAnswer | undefined;
}

async function gatherFacts(setup: OpencodeDiagnosis): Promise<OpencodeFacts> {
  const { directory, env, selfTest } = setup;
  const configuration = await readHostConfiguration({ directory, env });
  const binary = findBinary(setup);
  const program = await checkProgram(binary);
  const isSecond = binary === undefined ? isForSecond(configuration) : program.check === SECOND_VERSION;
  const host = isSecond ? "opencode2" : "opencode";
  // Before OpenCode runs, which makes the store.
  const named = await findStoreOption(setup.store);
  const folders = await findPluginFolders(named);
  const kept = await checkStore(named, env);
  const lastStart = await describeLastStart(folders.root);
  const isAsked = selfTest && binary !== undefined && program.level !== "problem";
  if (isAsked) setup.onWait?.();
  // Before the plugin is looked for, since OpenCode installs what is named and not there yet.
  const said = isAsked ? await askHost({ binary, directory, env, host }) : undefined;
  const terminal = isSecond ? await readTerminalPlugins({ directory, env }) : undefined;
  const inTerminal = terminal?.plugins.find(isCarryover);
  const plugin = await checkPlugin({ configuration, directory, env, binary, host, inTerminal });
  // OpenCode 2 calls a plugin active that has started nothing: what cannot work has no tools.
  const hasNone = isSecond && said?.status === "answered" && plugin.working === undefined;
  const answer = hasNone ? { ...said, tools: [] } : said;
  const plugins = isSecond ? configuration.plugins2 : configuration.plugins;
  return {
    ...setup,
    ...configuration,
    plugins,
    terminal,
    host,
    binary,
    program,
    plugin,
    kept,
    lastStart,
    answer,
  };
}

function findBinary({ opencode, env }: OpencodeDiagnosis): string | undefined {
  const named = opencode ?? env.OPENCODE_BIN;
  const names = named ? [named] : OPENCODE_PROGRAMS;
  return names.map((name) => findProgram(name, env)).find((file) => file !== undefined);
}

/** True for a configuration that only OpenCode 2 reads the plugin from. */
function isForSecond({ plugins, plugins2, pairs }: HostConfiguration): boolean {
  return !plugins.some(isCarryover) && [...plugins2, ...pairs].some(isCarryover);
}

/** The version of OpenCode that the plugin is tested with. */
const TESTED_OPENCODE_VERSION = "1.18.33";

export async function checkProgram(binary: string | undefined): Promise<Verdict> {
  const advice = `Install it (version 1: npm i -g opencode-ai@${TESTED_OPENCODE_VERSION}; version 2: https://opencode.ai), or name it with --opencode or OPENCODE_BIN.`;
  if (binary === undefined)
    return problem("neither opencode nor opencode2 is on PATH, or not executable", advice);
  const asked = await runToEnd(binary, ["--version"], { env: process.env, limitMs: VERSION_MS });
  const version = asked.hasSucceeded ? asked.stdout.trim() : undefined;
  if (version === undefined) return problem(`${binary} does not say its version`, advice);
  if (version === TESTED_OPENCODE_VERSION) return ok(`OpenCode ${version}, the tested version (${binary})`);
  const major = Number(/^\D*(\d+)/.exec(version)?.[1]);
  if (major > 1 || (major !== 1 && (await isOpencode2(binary)))) {
    const what = `OpenCode ${/\d+\.\S+/.exec(version)?.[0] ?? version}; tried is a build of its public branch v2 of August 2026 (${binary})`;
    const tools = "If it has our tools (below), all is well; if not, please report it with this version.";
    return { ...note(what, tools), check: SECOND_VERSION };
  }
  if (major !== 1) return problem(`OpenCode ${version} does not load this plugin (${binary})`, advice);
  return note(
    `OpenCode ${version}; tested is ${TESTED_OPENCODE_VERSION} (${binary})`,
    "If the self-test passes, all is well.",
  );
}

const VERSION_MS = 60_000;

/** The check of a program of version 2 or later. */
const SECOND_VERSION = "opencode-2";

/** True for a program that works as OpenCode 2 does: before it was released, its versions did not say so. */
async function isOpencode2(binary: string): Promise<boolean> {
  const asked = {
    cwd: process.cwd(),
    env: process.env,
    stderr: "with-stdout",
    timeoutMs: VERSION_MS,
  } as const;
  const help = await runToFile(binary, ["--help"], asked).catch(() => undefined);
  return help?.output.toString("utf8").includes("--standalone") === true;
}

async function terminalVerdicts({
  terminal,
  plugin: { working },
  directory,
  env,
}: OpencodeFacts): Promise<readonly Verdict[]> {
  if (terminal !== undefined) return [checkTerminal2(terminal)];
  if (working === undefined) return [];
  const configuration = await readTerminalConfiguration({ directory, env });
  return checkTerminal(working.plugin, { configuration, env });
}

async function describeLastStart(root: string): Promise<Verdict> {
  const last = await readLoadedNote(root);
  return ok(
    last === undefined
      ? "the plugin has not run on this machine yet"
      : `the plugin ran last on ${new Date(last.atMs).toISOString()} as version ${last.version} in ${last.directory}`,
  );
}

/** What OpenCode itself says decides, whatever was found before. */
function checkAnswer({ answer, selfTest, host }: OpencodeFacts, before: readonly Finding[]): Verdict {
  if (answer === undefined)
    return note(
      "OpenCode was not asked whether it has our tools",
      selfTest ? DO_THE_ABOVE : "Leave out --no-self-test.",
    );
  if (answer.status === "refused")
    return problem(
      `OpenCode does not work in this folder: ${answer.reason}`,
      "Correct what it names, or run `opencode debug config` to see it again.",
    );
  const missing = FORK_OWN_TOOLS.filter((tool) => !answer.tools.includes(tool));
  if (missing.length === 0) return ok(`OpenCode has ${FORK_OWN_TOOLS.join(", ")} in this folder`);
  const said = answer.printed
    .join("")
    .split("\n")
    .filter((line) => /level=(?:ERROR|WARN)/.test(line) && /plugin|carryover/i.test(line))
    .map((line) => line.replace(/^.*?message=/, ""))
    .slice(-3);
  if (answer.failure !== undefined) said.push(answer.failure);
  return problem(
    `OpenCode does not have ${missing.join(", ")} in this folder${said.length > 0 ? `; it says: ${said.join("; ")}` : ""}`,
    hasProblem(before)
      ? DO_THE_ABOVE
      : `Nothing above explains it. Look for the plugin in OpenCode's log: ${LOGS[host]}`,
  );
}

const DO_THE_ABOVE = "Do what stands above, then run this again.";

const LOGS: Readonly<Record<OpencodeHost, string>> = {
  opencode: "opencode serve --print-logs --log-level DEBUG",
  opencode2: "~/.local/share/opencode/log",
};

/** Tools that are there and that no agent, or not every agent, is offered. */
function checkAgents({ answer }: OpencodeFacts, before: readonly Finding[]): readonly Verdict[] {
  if (answer?.status !== "answered") return [];
  const { agents, tools } = answer;
  const isKnown = (tool: string): boolean =>
    before.some(({ check, what }) => check === "tools" && what.includes(` ${tool} `));
  return FORK_OWN_TOOLS.filter((tool) => tools.includes(tool) && !isKnown(tool)).flatMap((tool) => {
    const without = agents.filter(({ refused }) => refused.includes(tool)).map(({ name }) => name);
    if (without.length === 0) return [];
    const advice = `Add "permission": { "${tool}": "allow" } behind the rule that denies it, or leave it so.`;
    return without.length === agents.length
      ? [problem(`no agent is offered the tool ${tool}: permissions hide it`, advice)]
      : [note(`the tool ${tool} is hidden from ${without.join(", ")} by permissions`, advice)];
  });
}

/** The self-test, where OpenCode has our tools. */
async function playConversation(
  { binary, plugin: { working }, host }: OpencodeFacts,
  before: readonly Finding[],
): Promise<readonly Verdict[]> {
  const isRegistered = before.some(({ check, level }) => check === "registered" && level === "ok");
  if (!isRegistered || working === undefined || binary === undefined) return [];
  const { entry } = working;
  const url = entry.startsWith("file:") ? entry : pathToFileURL(resolve(entry)).href;
  return runSelfTest({ binary, plugin: url, host });
}
