import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "jsonc-parser";
import { readHookOptions } from "../../agents/options-file.ts";
import { type FinishedProgram, isNodeSupported, OLDEST_NODE, runToEnd } from "../../agents/programs.ts";
import type { Environment } from "../../plugin/context/context.ts";
import { VERSION } from "../../plugin/loaded-notice.ts";
import { errorMessage } from "../../text/failure.ts";
import { jsonOrText } from "../../text/json.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { configFolder, settingsFault, unstartedIn } from "../install/claude-code.ts";
import { listHooks } from "../install/codex.ts";
import { agentProgram, type HookProgram, PLUGIN } from "../install/hook-program.ts";
import { folderFor, usersOf } from "../install/plugin-folder.ts";
import { terminalText } from "../terminal/output.ts";
import { as, type Check, type Finding, note, ok, problem, runChecks, type Verdict } from "./check.ts";
import { checkLog, checkStore } from "./check-store.ts";

/**
 * Whether the plugin works in an agent that runs hooks: its program and Node, the plugin's folder, options and store, what the
 * agent itself says of plugin and hooks, and whether a hook and the server of tools answer. Nothing is sent to a provider.
 */
export async function diagnoseHookAgent(
  agent: HookProgram,
  setup: HookAgentSetup,
): Promise<readonly Finding[]> {
  const { env } = setup;
  const program = agentProgram(agent, env);
  const folder = join(folderFor(agent.name, env), "carryover");
  return runChecks(CHECKS[agent.name], { ...setup, agent, program, folder });
}

interface HookAgentSetup {
  readonly env: Environment;
  readonly directory: string;
  /** Whether programs are run. */
  readonly selfTest: boolean;
  readonly onWait?: () => void;
}

interface HookFacts extends HookAgentSetup {
  readonly agent: HookProgram;
  /** The agent's program, where it is there. */
  readonly program: string | undefined;
  /** The plugin's folder, from which Claude Code runs it and Codex takes its copy. */
  readonly folder: string;
}

const installAgain = ({ agent }: Pick<HookFacts, "agent">): string =>
  `Run \`carryover install ${agent.name}\`.`;

const EVERYWHERE: readonly Check<HookFacts>[] = [
  { check: "node", run: checkNodeOnPath },
  {
    check: "program",
    run: checkProgram,
    advice: ({ agent }) => `Install ${agent.title}, or name its program in ${agent.variable}.`,
  },
  { check: "folder", run: checkFolder, advice: installAgain },
  { check: "places", run: checkPlaces },
];

const OPTIONS: Check<HookFacts> = {
  check: "store",
  run: checkOptions,
  advice: "Correct it, or remove the file.",
};
const REGISTERED: Check<HookFacts> = { check: "registered", run: askAgent, advice: installAgain };
const ANSWERS: readonly Check<HookFacts>[] = [
  { check: "self-test", run: tryPlugin, advice: installAgain },
  { check: "log", run: ({ env }) => checkLog(env) },
];

const CHECKS: Readonly<Record<HookProgram["name"], readonly Check<HookFacts>[]>> = {
  "claude-code": [
    ...EVERYWHERE,
    {
      check: "tools",
      run: serverNotStarted,
      advice: "Run `carryover install claude-code`, which takes it off, or remove the file.",
    },
    { check: "settings", run: checkClaudeSettings },
    OPTIONS,
    REGISTERED,
    ...ANSWERS,
  ],
  codex: [...EVERYWHERE, OPTIONS, REGISTERED, { check: "trust", run: checkTrust }, ...ANSWERS],
};

const isWell = (check: string, before: readonly Finding[]): boolean =>
  before.every((found) => found.check !== check || found.level !== "problem");

/** Hooks are started as `node`, whatever runs this. */
async function checkNodeOnPath({ env }: HookFacts): Promise<Verdict> {
  const { hasSucceeded, stdout } = await runToEnd("node", ["--version"], { env });
  const [, version] = /^v(\d+\.\S+)/.exec(stdout.trim()) ?? [];
  if (!hasSucceeded || version === undefined)
    return problem(
      "there is no node on the PATH, and hooks are started by it",
      `Install Node ${OLDEST_NODE} or newer so that the agent finds it too.`,
    );
  if (isNodeSupported(version)) return ok(`Node ${version} is on the PATH`);
  return problem(
    `the node on the PATH is ${version}; hooks need ${OLDEST_NODE} or newer`,
    "Put a newer one in front of it on the PATH.",
  );
}

async function checkProgram({ agent, program, env }: HookFacts): Promise<Verdict> {
  const { title, command, testedVersion } = agent;
  if (program === undefined) return problem(`${title} is not there: no ${command} is on the PATH`);
  const { stdout } = await runToEnd(program, ["--version"], { env });
  const [version] = /\d+\.\d+\.\S+/.exec(stdout) ?? [];
  if (version === undefined) return problem(`${program} does not say its version`);
  if (version === testedVersion) return ok(`${title} ${version}, the tested version (${program})`);
  return note(`${title} ${version}; tested is ${testedVersion} (${program})`, "If all below is well, it is.");
}

async function checkFolder({ folder }: HookFacts): Promise<Verdict> {
  const missing: string[] = [];
  for (const name of FILES) await readFile(join(folder, name)).catch(() => missing.push(name));
  if (missing.length === FILES.length) return problem(`the plugin is not installed: ${folder} is not there`);
  if (missing.length > 0) return problem(`${folder} lacks ${missing.join(", ")}`);
  const manifest = jsonOrText(await readFile(join(folder, MANIFEST), "utf8"));
  const version = asString(asObject(manifest).version);
  if (version === undefined) return problem(`${join(folder, MANIFEST)} cannot be read`);
  if (version !== VERSION)
    return problem(`the plugin in ${folder} is version ${version}; this is ${VERSION}`);
  return ok(`version ${version} is in ${folder}`);
}

const MANIFEST = ".claude-plugin/plugin.json";
const FILES = ["hook.js", "mcp.js", "report.js", MANIFEST, "hooks/hooks.json", "hooks/codex.json"];

/** Whether variables name other places than they did when it was installed. */
async function checkPlaces({ agent, env }: HookFacts): Promise<Verdict | undefined> {
  const folder = folderFor(agent.name, env);
  const own = resolve(agent.settings(env));
  const moved = (what: string, variable: string): Verdict =>
    problem(
      what,
      `Set ${variable} as it was then, also where ${agent.title} is started, or run \`carryover install ${agent.name}\` again.`,
    );
  const text = await readFile(own, "utf8").catch(() => "");
  const [, named = folder] = new RegExp(`"([^"\\n]*carryover-agents[\\\\/]+${agent.name})"`).exec(text) ?? [];
  if (named !== folder)
    return moved(`it was installed to ${named}, and would be in ${folder} here`, "XDG_DATA_HOME");
  const usual = agent.settings({ ...env, [agent.settingsVariable]: undefined });
  const users = await usersOf(folder, [usual]);
  if (users.length === 0 || users.includes(own)) return undefined;
  return moved(
    `it was installed in ${users.join(", ")}, and ${agent.title} reads ${own} here`,
    agent.settingsVariable,
  );
}

async function serverNotStarted({ env }: HookFacts): Promise<Verdict | undefined> {
  const file = await unstartedIn(env);
  if (file === undefined) return undefined;
  return problem(`${file} lists our server as one that Claude Code does not start: sessions lack its tools`);
}

/** Settings of the user and of the project that take the plugin away; managed ones stand above all. */
async function checkClaudeSettings({ env, directory }: HookFacts): Promise<readonly Verdict[]> {
  const files = [
    join(configFolder({ env }), "settings.json"),
    join(directory, ".claude", "settings.json"),
    join(directory, ".claude", "settings.local.json"),
  ];
  const verdicts: Verdict[] = [];
  for (const file of files) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const fault = settingsFault(file, text);
    verdicts.push(
      ...(fault === undefined
        ? readClaudeSettings(asObject(parse(text)), file)
        : [problem(fault.what, fault.advice)]),
    );
  }
  return verdicts;
}

function readClaudeSettings(settings: UnknownObject, file: string): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  if (settings.disableAllHooks === true)
    verdicts.push(problem(`disableAllHooks is set in ${file}: Claude Code runs no hook`, "Take it out."));
  const plugins = asObject(settings.enabledPlugins);
  if (plugins[PLUGIN] === false)
    verdicts.push(
      problem(
        `the plugin is switched off in ${file}`,
        `Set "${PLUGIN}" to true in enabledPlugins there, or run \`claude plugin enable ${PLUGIN}\`.`,
      ),
    );
  const others = Object.keys(plugins).filter(
    (id) => id.startsWith("carryover@") && id !== PLUGIN && plugins[id] === true,
  );
  if (others.length > 0 && plugins[PLUGIN] === true) {
    const what = `two copies are switched on in ${file}: ${[PLUGIN, ...others].join(", ")}`;
    verdicts.push(as("doubles", problem(what, "Leave one of them.")));
  }
  const denied = asArray(asObject(settings.permissions).deny)
    .map(String)
    .filter((rule) => rule.startsWith("mcp__plugin_carryover_carryover"));
  if (denied.length > 0) {
    const what = `${file} denies ${denied.join(", ")}: what was trimmed cannot be recalled`;
    verdicts.push(as("tools", problem(what, "Take the rule out of permissions.deny.")));
  }
  return verdicts;
}

async function checkOptions({ env }: HookFacts): Promise<readonly Verdict[]> {
  const { options, problem: fault } = await readHookOptions(env);
  if (fault !== undefined) return [as("options", problem(fault))];
  return checkStore(options.store, env);
}

/** What the agent itself says decides. */
async function askAgent(facts: HookFacts, before: readonly Finding[]): Promise<Verdict> {
  const { agent, env, program, selfTest } = facts;
  const { title } = agent;
  if (!selfTest || program === undefined || !isWell("program", before))
    return note(
      `${title} was not asked whether it has the plugin`,
      selfTest ? "Do what stands above, then run this again." : "Leave out --no-self-test.",
    );
  facts.onWait?.();
  const { stdout, said } = await runToEnd(program, ["plugin", "list", "--json"], { env });
  const list = jsonOrText(stdout.slice(Math.max(0, stdout.search(/^[[{]/m))));
  if (typeof list !== "object" || list === null) {
    const [line = ""] = said.split("\n").filter((each) => /error|invalid|expected/i.test(each));
    return problem(
      `${title} does not say which plugins it has${line === "" ? "" : `: ${terminalText(line, 200)}`}`,
      "Correct what it names in its configuration.",
    );
  }
  const plugins = (Array.isArray(list) ? list : asArray(asObject(list).installed)).map(asObject);
  const ours = plugins.find(({ id, pluginId }) => id === PLUGIN || pluginId === PLUGIN);
  if (ours === undefined) return problem(`${title} does not have the plugin`);
  const errors = asArray(ours.errors).map(String);
  if (errors.length > 0)
    return problem(`${title} cannot load the plugin: ${terminalText(errors.join("; "), 200)}`);
  if (ours.enabled === false)
    return problem(
      `the plugin is switched off in ${title}`,
      `Switch it on there, or: ${installAgain(facts)}`,
    );
  const place = asString(ours.readFromFolder) ?? asString(asObject(ours.source).path);
  if (place !== undefined && place !== facts.folder) return problem(`${title} runs another copy: ${place}`);
  if (asString(ours.version) !== VERSION)
    return problem(`${title} has version ${String(ours.version)}; this is ${VERSION}`);
  return ok(`${title} has the plugin, and it is switched on`);
}

/** Codex runs no hook that the user has not reviewed, and does not say so in `exec`. */
async function checkTrust(
  { program, env }: HookFacts,
  before: readonly Finding[],
): Promise<Verdict | undefined> {
  const isRegistered = before.some(({ check, level }) => check === "registered" && level === "ok");
  if (!isRegistered || program === undefined) return undefined;
  const hooks = await listHooks({ program, env }).catch((error: unknown) => errorMessage(error));
  if (typeof hooks === "string") return problem(hooks, "Run this again.");
  if (hooks.length === 0)
    return problem(
      "Codex knows no hook of the plugin: hooks are switched off, or its copy is damaged",
      "Take `hooks = false` out of [features] in config.toml, or run `carryover install codex`.",
    );
  const off = hooks.filter(({ isEnabled }) => !isEnabled).length;
  if (off > 0)
    return problem(`${off} of ${hooks.length} hooks are switched off`, "Switch them on in /hooks.");
  const untrusted = hooks.filter(({ trust }) => trust !== "trusted");
  if (untrusted.length === 0) return ok(`its ${hooks.length} hooks are trusted`);
  return problem(
    `${untrusted.length} of ${hooks.length} hooks are not trusted (${untrusted[0]?.trust}): Codex skips them without a word`,
    "Start codex and trust them there, or run `carryover install codex --trust`.",
  );
}

/** Lets a hook trim an output and the server name its tools, in a home that is thrown away. */
async function tryPlugin(
  { agent, folder, env, selfTest }: HookFacts,
  before: readonly Finding[],
): Promise<readonly Verdict[]> {
  if (!selfTest || !isWell("folder", before) || !isWell("node", before)) return [];
  const home = await mkdtemp(join(tmpdir(), "carryover-doctor-"));
  try {
    const session = join(home, "session.jsonl");
    const item = { type: "CommandExecution", id: "doctor", exit_code: 0 };
    await writeFile(session, `${JSON.stringify({ payload: { item } })}\n`);
    const stdout = Array.from({ length: 5_000 }, (_, line) => `line ${line + 1}\n`).join("");
    const payload = {
      session_id: "doctor",
      transcript_path: session,
      cwd: home,
      hook_event_name: "PostToolUse",
      tool_name: "Bash",
      tool_use_id: "doctor",
      tool_response:
        agent.name === "codex" ? stdout : { stdout, stderr: "", interrupted: false, isImage: false },
    };
    const place = { PATH: env.PATH, HOME: home };
    const run = (file: string, lines: readonly object[]) =>
      runToEnd("node", [join(folder, file), agent.name], {
        env: place,
        input: lines.map((line) => JSON.stringify(line)).join("\n"),
      });
    const hook = await run("hook.js", [payload]);
    const server = await run("mcp.js", [{ jsonrpc: "2.0", id: 1, method: "tools/list" }]);
    return [
      answered("a hook", /sha256 [0-9a-f]{64}/, hook),
      answered("the server of tools", /"recall"/, server),
    ];
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function answered(what: string, expected: RegExp, { stdout, said }: FinishedProgram): Verdict {
  if (expected.test(stdout)) return ok(`${what} answers`);
  const line = said.split("\n").find((each) => /error/i.test(each)) ?? "it says nothing";
  return problem(`${what} does not answer: ${terminalText(line, 160)}`);
}
