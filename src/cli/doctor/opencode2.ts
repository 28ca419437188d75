import { existsSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { readPluginOptions } from "../../plugin/context/options.ts";
import {
  type ConfiguredPlugin,
  type HostConfiguration,
  isCarryover,
  isPathSpec,
  readTerminalPlugins,
  type TerminalPlugins,
} from "../opencode/configuration.ts";
import { runToFile } from "../opencode/sessions.ts";
import { checkAge, checkDoubles, type Found, missing, nameOf, wrongOptions } from "./check-plugin.ts";
import { findPlugin, isOurs, loadPlugin } from "./find-plugin.ts";
import type { Finding } from "./finding.ts";

/** True for a program that works as OpenCode 2 does: before it was released, its versions did not say so. */
export async function isOpencode2(binary: string): Promise<boolean> {
  const asked = { cwd: process.cwd(), env: process.env, stderr: "with-stdout", timeoutMs: HELP_MS } as const;
  const help = await runToFile(binary, ["--help"], asked).catch(() => undefined);
  return help?.output.toString("utf8").includes("--standalone") === true;
}

const HELP_MS = 60_000;

/** What OpenCode 2 is told of the plugin: the part for its server, loaded as it does, and the part for its terminal. */
export async function checkOpencode2(setup: Check2): Promise<Checked2> {
  const { configuration, directory, env, binary } = setup;
  const terminal = await readTerminalPlugins({ directory, env });
  const inTerminal = terminal.plugins.find(isCarryover);
  const server = await checkServerHalf(setup, inTerminal);
  return { ...server, findings: [...server.findings, checkTerminalHalf(terminal, inTerminal)] };

  async function checkServerHalf(
    { version }: Check2,
    onlyOther: ConfiguredPlugin | undefined,
  ): Promise<Checked2> {
    const ours: ConfiguredPlugin[] = [];
    for (const plugin of configuration.plugins2) if (await isOurs(plugin)) ours.push(plugin);
    const pairs = configuration.pairs.filter(isCarryover).map(wrongForm);
    if (ours.length === 0) return { findings: pairs.length > 0 ? pairs : notConfigured(setup, onlyOther) };
    const checked = await Promise.all(ours.map((plugin) => checkCopy(plugin, version)));
    const working = ours.filter((_, index) => checked[index]?.entry !== undefined);
    const findings = [...pairs, ...checked.flatMap((each) => each.findings), ...checkDoubles(working)];
    const entry = checked.find((each) => each.entry !== undefined)?.entry;
    return { findings, ...(entry !== undefined && { entry }) };
  }

  async function checkCopy(plugin: ConfiguredPlugin, version: string): Promise<Checked2> {
    const found = await findPlugin(plugin, { directory, env, host: "opencode2", program: programOf(setup) });
    if (found.status === "missing") return { findings: [missing(plugin, found)] };
    const { entry } = found;
    const loaded = await loadPlugin({
      entry,
      options: plugin.options,
      env,
      host: "opencode2",
      ...(binary !== undefined && { binary }),
    });
    if (loaded.status === "failed")
      return {
        findings: [
          {
            check: "plugin",
            level: "problem",
            what: `${nameOf(plugin)} cannot be loaded: ${loaded.reason}`,
            advice: `OpenCode imports ${entry}. Install carryover again, or correct what is written there.`,
          },
        ],
      };
    const { problems } = readPluginOptions(plugin.options);
    if (problems.length > 0) return { findings: wrongOptions(problems, plugin.from) };
    return { findings: [configured(plugin, found), ...checkAge(found, version)], entry };
  }
}

interface Checked2 {
  readonly findings: readonly Finding[];
  /** The file of the plugin that can work, where there is one. */
  readonly entry?: string;
}

interface Check2 {
  readonly configuration: HostConfiguration;
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** The program of OpenCode, whose JavaScript loads the plugin; Node where unset. */
  readonly binary: string | undefined;
  /** The version of this program. */
  readonly version: string;
}

function configured(plugin: ConfiguredPlugin, { entry, version }: Found): Finding {
  const what = `${nameOf(plugin)}${version ? `, version ${version},` : ""} is a plugin for OpenCode 2 (${entry})`;
  return { check: "configured", level: "ok", what };
}

/** The name under which this OpenCode is called. */
const programOf = ({ binary }: Pick<Check2, "binary">): string => basename(binary ?? "opencode2");

function wrongForm({ spec, from }: ConfiguredPlugin): Finding {
  return {
    check: "plugin",
    level: "problem",
    what:
      `${spec} stands in brackets with its options under ` +
      "`plugins`" +
      ` in ${from}, which OpenCode 2 does not read`,
    advice: `Write { "package": "${spec}", "options": { … } } there, or the brackets under the key \`plugin\`.`,
  };
}

/** Nothing is said of a configuration that cannot be read: it may name the plugin. */
function notConfigured(setup: Check2, inTerminal: ConfiguredPlugin | undefined): readonly Finding[] {
  const { files } = setup.configuration;
  if (files.some(({ problem }) => problem !== undefined)) return [];
  const looked = files.map(({ path }) => path).join(", ") || "no configuration file was found";
  const half = inTerminal === undefined ? "" : `; only the part for the terminal is, in ${inTerminal.from}`;
  return [
    {
      check: "configured",
      level: "problem",
      what: `the plugin is in no configuration for this folder (${looked})${half}`,
      advice: `Run \`${programOf(setup)} plugin add carryover\`, or add "plugins": ["carryover"] to opencode.json here.`,
    },
  ];
}

function checkTerminalHalf({ file, problem }: TerminalPlugins, named: ConfiguredPlugin | undefined): Finding {
  const check = "terminal";
  if (named === undefined && problem !== undefined)
    return {
      check,
      level: "problem",
      what: problem,
      advice: "Correct it: the terminal loads no plugin of it.",
    };
  if (named === undefined)
    return {
      check,
      level: "note",
      what: "the part for the terminal is named nowhere: the sidebar, the status line, /forks and /context may be missing",
      advice: `Add "plugins": ["carryover"] to ${file}, unless your OpenCode finds it in the package by itself.`,
    };
  const path = isPathSpec(named.spec) ? fileURLToPath(named.spec) : undefined;
  if (path !== undefined && !existsSync(path))
    return {
      check,
      level: "problem",
      what: `the part for the terminal is not there: there is no ${path}`,
      advice: `Correct the path in ${named.from}.`,
    };
  return { check, level: "ok", what: `the part for the terminal is ${nameOf(named)}` };
}
