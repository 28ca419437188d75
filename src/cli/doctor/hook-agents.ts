import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "jsonc-parser";
import { readHookOptions } from "../../agents/options-file.ts";
import { VERSION } from "../../plugin/control.ts";
import { pluginFolders } from "../../plugin/stores/folders.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { errorMessage } from "../../text/failure.ts";
import { jsonOrText } from "../../text/json.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { configFolder, settingsFault, unstartedIn } from "../install/claude-code.ts";
import { listHooks } from "../install/codex.ts";
import {
  execute,
  findProgram,
  folderFor,
  type HookProgram,
  PLUGIN,
  usersOf,
} from "../install/run-program.ts";
import { terminalText } from "../terminal/output.ts";
import { checkDatabase, checkLog, checkStore } from "./check-store.ts";
import type { Finding } from "./finding.ts";

/**
 * Whether the plugin works in an agent that runs hooks: its program and Node, the plugin's folder, options and store, what the
 * agent itself says of plugin and hooks, and whether a hook and the server of tools answer. Nothing is sent to a provider.
 */
export async function diagnoseHookAgent(
  agent: HookProgram,
  setup: HookAgentSetup,
): Promise<readonly Finding[]> {
  const { env, selfTest } = setup;
  const program = await findProgram(agent, env).catch(() => undefined);
  const node = await checkNodeOf(env);
  const folder = join(folderFor(agent.name, env), "carryover");
  const installed = await checkFolder(agent, folder);
  const isWhole = installed.every(({ level }) => level === "ok");
  const host = await checkProgram(agent, program, env);
  const isAsked = selfTest && program !== undefined && host.every(({ level }) => level !== "problem");
  if (isAsked) setup.onWait?.();
  return [
    ...node,
    ...host,
    ...installed,
    ...(await checkPlaces(agent, env)),
    ...(agent.name === "claude-code" ? await checkClaudeSettings(setup) : []),
    ...(await checkOptions(env)),
    ...(isAsked ? await askAgent(agent, { program, env }) : [notAsked(agent, selfTest)]),
    ...(selfTest && isWhole && node.every(({ level }) => level === "ok")
      ? await tryPlugin(agent, { folder, env })
      : []),
    ...(await checkLog(env)),
  ];
}

interface HookAgentSetup {
  readonly env: Environment;
  readonly directory: string;
  /** Whether programs are run. */
  readonly selfTest: boolean;
  readonly onWait?: () => void;
}

type Environment = Readonly<Record<string, string | undefined>>;

const again = ({ name }: HookProgram): string => `Run \`carryover install ${name}\`.`;

/** Hooks are started as `node`, whatever runs this. */
async function checkNodeOf(env: Environment): Promise<readonly Finding[]> {
  const { code, stdout } = await execute("node", ["--version"], { env });
  const [, version = "", major] = /^v((\d+)\.\S+)/.exec(stdout.trim()) ?? [];
  if (code !== 0 || major === undefined)
    return [
      {
        check: "node",
        level: "problem",
        what: "there is no node on the PATH, and hooks are started by it",
        advice: "Install Node 20 or newer so that the agent finds it too.",
      },
    ];
  if (Number(major) >= 20) return [{ check: "node", level: "ok", what: `Node ${version} is on the PATH` }];
  return [
    {
      check: "node",
      level: "problem",
      what: `the node on the PATH is ${version}; hooks need 20 or newer`,
      advice: "Put a newer one in front of it on the PATH.",
    },
  ];
}

async function checkProgram(
  { title, command, variable, testedVersion }: HookProgram,
  program: string | undefined,
  env: Environment,
): Promise<readonly Finding[]> {
  const check = "program";
  const advice = `Install ${title}, or name its program in ${variable}.`;
  if (program === undefined)
    return [{ check, level: "problem", what: `${title} is not there: no ${command} is on the PATH`, advice }];
  const { stdout } = await execute(program, ["--version"], { env });
  const [version] = /\d+\.\d+\.\S+/.exec(stdout) ?? [];
  if (version === undefined)
    return [{ check, level: "problem", what: `${program} does not say its version`, advice }];
  if (version === testedVersion)
    return [{ check, level: "ok", what: `${title} ${version}, the tested version (${program})` }];
  return [
    {
      check,
      level: "note",
      what: `${title} ${version}; tested is ${testedVersion} (${program})`,
      advice: "If all below is well, it is.",
    },
  ];
}

/** The plugin's folder, from which Claude Code runs it and Codex takes its copy. */
async function checkFolder(agent: HookProgram, folder: string): Promise<readonly Finding[]> {
  const check = "folder";
  const missing: string[] = [];
  for (const name of FILES) await readFile(join(folder, name)).catch(() => missing.push(name));
  const problem = (what: string): readonly Finding[] => [
    { check, level: "problem", what, advice: again(agent) },
  ];
  if (missing.length === FILES.length) return problem(`the plugin is not installed: ${folder} is not there`);
  if (missing.length > 0) return problem(`${folder} lacks ${missing.join(", ")}`);
  const manifest = jsonOrText(await readFile(join(folder, MANIFEST), "utf8"));
  const version = asString(asObject(manifest).version);
  if (version === undefined) return problem(`${join(folder, MANIFEST)} cannot be read`);
  if (version !== VERSION)
    return problem(`the plugin in ${folder} is version ${version}; this is ${VERSION}`);
  return [{ check, level: "ok", what: `version ${version} is in ${folder}` }];
}

/** Whether variables name other places than they did when it was installed. */
async function checkPlaces(agent: HookProgram, env: Environment): Promise<readonly Finding[]> {
  const folder = folderFor(agent.name, env);
  const own = resolve(agent.settings(env));
  const problem = (what: string, variable: string): readonly Finding[] => [
    {
      check: "places",
      level: "problem",
      what,
      advice: `Set ${variable} as it was then, also where ${agent.title} is started, or run \`carryover install ${agent.name}\` again.`,
    },
  ];
  const text = await readFile(own, "utf8").catch(() => "");
  const [, named = folder] = new RegExp(`"([^"\\n]*carryover-agents[\\\\/]+${agent.name})"`).exec(text) ?? [];
  if (named !== folder)
    return problem(`it was installed to ${named}, and would be in ${folder} here`, "XDG_DATA_HOME");
  const usual = agent.settings({ ...env, [agent.settingsVariable]: undefined });
  const users = await usersOf(folder, [usual]);
  if (users.length === 0 || users.includes(own)) return [];
  return problem(
    `it was installed in ${users.join(", ")}, and ${agent.title} reads ${own} here`,
    agent.settingsVariable,
  );
}

const MANIFEST = ".claude-plugin/plugin.json";
const FILES = ["hook.js", "mcp.js", "report.js", MANIFEST, "hooks/hooks.json", "hooks/codex.json"];

/** Settings of the user and of the project that take the plugin away; managed ones stand above all. */
async function checkClaudeSettings({ env, directory }: HookAgentSetup): Promise<readonly Finding[]> {
  const files = [
    join(configFolder({ env }), "settings.json"),
    join(directory, ".claude", "settings.json"),
    join(directory, ".claude", "settings.local.json"),
  ];
  const findings: Finding[] = [];
  const unstarted = await unstartedIn(env);
  if (unstarted !== undefined)
    findings.push({
      check: "tools",
      level: "problem",
      what: `${unstarted} lists our server as one that Claude Code does not start: sessions lack its tools`,
      advice: "Run `carryover install claude-code`, which takes it off, or remove the file.",
    });
  for (const file of files) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const fault = settingsFault(file, text);
    if (fault !== undefined) findings.push({ check: "settings", level: "problem", ...fault });
    else findings.push(...readClaudeSettings(asObject(parse(text)), file));
  }
  return findings;
}

function readClaudeSettings(settings: UnknownObject, file: string): readonly Finding[] {
  const check = "settings";
  const level = "problem";
  const findings: Finding[] = [];
  if (settings.disableAllHooks === true)
    findings.push({
      check,
      level,
      what: `disableAllHooks is set in ${file}: Claude Code runs no hook`,
      advice: "Take it out.",
    });
  const plugins = asObject(settings.enabledPlugins);
  if (plugins[PLUGIN] === false)
    findings.push({
      check,
      level,
      what: `the plugin is switched off in ${file}`,
      advice: `Set "${PLUGIN}" to true in enabledPlugins there, or run \`claude plugin enable ${PLUGIN}\`.`,
    });
  const others = Object.keys(plugins).filter(
    (id) => id.startsWith("carryover@") && id !== PLUGIN && plugins[id] === true,
  );
  if (others.length > 0 && plugins[PLUGIN] === true)
    findings.push({
      check: "doubles",
      level,
      what: `two copies are switched on in ${file}: ${[PLUGIN, ...others].join(", ")}`,
      advice: "Leave one of them.",
    });
  const denied = asArray(asObject(settings.permissions).deny)
    .map(String)
    .filter((rule) => rule.startsWith("mcp__plugin_carryover_carryover"));
  if (denied.length > 0)
    findings.push({
      check: "tools",
      level,
      what: `${file} denies ${denied.join(", ")}: what was bounded cannot be recalled`,
      advice: "Take the rule out of permissions.deny.",
    });
  return findings;
}

async function checkOptions(env: Environment): Promise<readonly Finding[]> {
  const { options, problem } = await readHookOptions(env);
  if (problem !== undefined)
    return [{ check: "options", level: "problem", what: problem, advice: "Correct it, or remove the file." }];
  const { store } = options;
  return store !== undefined && isDatabase(store)
    ? checkDatabase(store)
    : checkStore(pluginFolders({ store, env }));
}

interface AskedAgent {
  readonly program: string;
  readonly env: Environment;
}

/** What the agent itself says decides. */
async function askAgent(agent: HookProgram, asked: AskedAgent): Promise<readonly Finding[]> {
  const check = "registered";
  const { title } = agent;
  const { stdout, said } = await execute(asked.program, ["plugin", "list", "--json"], asked);
  const list = jsonOrText(stdout.slice(Math.max(0, stdout.search(/^[[{]/m))));
  const problem = (what: string, advice: string): readonly Finding[] => [
    { check, level: "problem", what, advice },
  ];
  if (typeof list !== "object" || list === null) {
    const [line = ""] = said.split("\n").filter((each) => /error|invalid|expected/i.test(each));
    return problem(
      `${title} does not say which plugins it has${line === "" ? "" : `: ${terminalText(line, 200)}`}`,
      "Correct what it names in its configuration.",
    );
  }
  const plugins = (Array.isArray(list) ? list : asArray(asObject(list).installed)).map(asObject);
  const ours = plugins.find(({ id, pluginId }) => id === PLUGIN || pluginId === PLUGIN);
  if (ours === undefined) return problem(`${title} does not have the plugin`, again(agent));
  const errors = asArray(ours.errors).map(String);
  if (errors.length > 0)
    return problem(`${title} cannot load the plugin: ${terminalText(errors.join("; "), 200)}`, again(agent));
  if (ours.enabled === false)
    return problem(`the plugin is switched off in ${title}`, `Switch it on there, or: ${again(agent)}`);
  const place = asString(ours.readFromFolder) ?? asString(asObject(ours.source).path);
  const folder = join(folderFor(agent.name, asked.env), "carryover");
  if (place !== undefined && place !== folder)
    return problem(`${title} runs another copy: ${place}`, again(agent));
  if (asString(ours.version) !== VERSION)
    return problem(`${title} has version ${String(ours.version)}; this is ${VERSION}`, again(agent));
  return [
    { check, level: "ok", what: `${title} has the plugin, and it is switched on` },
    ...(agent.trust === undefined ? [] : await checkTrust(asked)),
  ];
}

/** Codex runs no hook that the user has not reviewed, and does not say so in `exec`. */
async function checkTrust(asked: AskedAgent): Promise<readonly Finding[]> {
  const check = "trust";
  const level = "problem";
  const hooks = await listHooks(asked).catch((error: unknown) => errorMessage(error));
  if (typeof hooks === "string") return [{ check, level, what: hooks, advice: "Run this again." }];
  if (hooks.length === 0)
    return [
      {
        check,
        level,
        what: "Codex knows no hook of the plugin: hooks are switched off, or its copy is damaged",
        advice: "Take `hooks = false` out of [features] in config.toml, or run `carryover install codex`.",
      },
    ];
  const off = hooks.filter(({ isEnabled }) => !isEnabled).length;
  if (off > 0)
    return [
      {
        check,
        level,
        what: `${off} of ${hooks.length} hooks are switched off`,
        advice: "Switch them on in /hooks.",
      },
    ];
  const untrusted = hooks.filter(({ trust }) => trust !== "trusted");
  if (untrusted.length === 0) return [{ check, level: "ok", what: `its ${hooks.length} hooks are trusted` }];
  return [
    {
      check,
      level,
      what: `${untrusted.length} of ${hooks.length} hooks are not trusted (${untrusted[0]?.trust}): Codex skips them without a word`,
      advice: "Start codex and trust them there, or run `carryover install codex --trust`.",
    },
  ];
}

function notAsked({ title }: HookProgram, isWanted: boolean): Finding {
  return {
    check: "registered",
    level: "note",
    what: `${title} was not asked whether it has the plugin`,
    advice: isWanted ? "Do what stands above, then run this again." : "Leave out --no-self-test.",
  };
}

/** Lets a hook bound an output and the server name its tools, in a home that is thrown away. */
async function tryPlugin(agent: HookProgram, { folder, env }: TriedPlugin): Promise<readonly Finding[]> {
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
      execute("node", [join(folder, file), agent.name], {
        env: place,
        input: lines.map((line) => JSON.stringify(line)).join("\n"),
      });
    const hook = await run("hook.js", [payload]);
    const server = await run("mcp.js", [{ jsonrpc: "2.0", id: 1, method: "tools/list" }]);
    return [
      tried("a hook", { isGood: /sha256 [0-9a-f]{64}/.test(hook.stdout), said: hook.said, agent }),
      tried("the server of tools", { isGood: /"recall"/.test(server.stdout), said: server.said, agent }),
    ];
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

interface TriedPlugin {
  readonly folder: string;
  readonly env: Environment;
}

function tried(what: string, { isGood, said, agent }: Trial): Finding {
  if (isGood) return { check: "self-test", level: "ok", what: `${what} answers` };
  const line = said.split("\n").find((each) => /error/i.test(each)) ?? "it says nothing";
  return {
    check: "self-test",
    level: "problem",
    what: `${what} does not answer: ${terminalText(line, 160)}`,
    advice: again(agent),
  };
}

interface Trial {
  readonly isGood: boolean;
  readonly said: string;
  readonly agent: HookProgram;
}
