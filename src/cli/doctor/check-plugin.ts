import { basename } from "node:path";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import type { Environment } from "../../plugin/context/context.ts";
import { readPluginOptions } from "../../plugin/context/options.ts";
import { VERSION } from "../../plugin/loaded-notice.ts";
import { asArray, isObject } from "../../text/unknown-value.ts";
import {
  type ConfiguredPlugin,
  type HostConfiguration,
  isCarryover,
  isSet,
  packageOf,
} from "../opencode/configuration.ts";
import { as, ok, problem, type Verdict } from "./check.ts";
import { type FoundPlugin, findPlugin, isOurs, type OpencodeHost } from "./find-plugin.ts";
import { type LoadedPlugin, loadPlugin } from "./load-plugin.ts";

/** Finds our plugin in OpenCode's configuration, loads each copy as OpenCode would, and says which of them cannot work. */
export async function checkPlugin(setup: PluginCheck): Promise<CheckedPlugin> {
  const { configuration, directory, env, binary, host } = setup;
  const listed = host === "opencode" ? configuration.plugins : configuration.plugins2;
  const ours: ConfiguredPlugin[] = [];
  for (const plugin of listed) if (await isOurs(plugin)) ours.push(plugin);
  const pairs = host === "opencode" ? [] : configuration.pairs.filter(isCarryover);
  if (ours.length + pairs.length === 0) return { verdicts: notConfigured(setup) };
  const verdicts = pairs.map(wrongForm);
  const working: WorkingPlugin[] = [];
  for (const plugin of ours) {
    const found = await findPlugin(plugin, { directory, env, host, program: programName(setup) });
    if (found.status === "missing") {
      verdicts.push(as("plugin", problem(`${nameOf(plugin)} is not there: ${found.reason}`, found.advice)));
      continue;
    }
    const { entry, version } = found;
    const loaded = await loadPlugin({ entry, options: plugin.options, env, host, binary });
    const faults = faultsOf(loaded, { plugin, entry, host });
    verdicts.push(...faults);
    if (faults.length > 0) continue;
    const offers = host === "opencode" ? `offers ${FORK_OWN_TOOLS.join(", ")}` : "is a plugin for OpenCode 2";
    verdicts.push(ok(`${nameOf(plugin)}${version ? `, version ${version},` : ""} ${offers} (${entry})`));
    if (host === "opencode") verdicts.push(...missingHooks(loaded, { plugin, entry }));
    verdicts.push(...checkAge(found));
    working.push({ plugin, entry });
  }
  if (working.length > 1)
    verdicts.push(
      as(
        "doubles",
        problem(
          `${working.length} copies are configured, and each does everything: ${working.map(({ plugin }) => nameOf(plugin)).join(", ")}`,
          "Leave one of them.",
        ),
      ),
    );
  return { verdicts, working: working[0] };
}

export interface PluginCheck {
  readonly configuration: HostConfiguration;
  readonly directory: string;
  readonly env: Environment;
  /** The program of OpenCode, whose JavaScript loads the plugin; Node where undefined. */
  readonly binary: string | undefined;
  readonly host: OpencodeHost;
  /** The part for the terminal, where that alone is configured. */
  readonly inTerminal?: ConfiguredPlugin | undefined;
}

export interface CheckedPlugin {
  /** Of the check `configured`, where they have no name of their own. */
  readonly verdicts: readonly Verdict[];
  /** The first that works. */
  readonly working?: WorkingPlugin | undefined;
}

interface WorkingPlugin {
  readonly plugin: ConfiguredPlugin;
  /** The file that OpenCode imports. */
  readonly entry: string;
}

export const nameOf = ({ spec, from }: ConfiguredPlugin): string => `${spec} (in ${from})`;

/** The name under which OpenCode is called. */
function programName({ host, binary }: PluginCheck): string {
  return host === "opencode" ? "opencode" : basename(binary ?? "opencode2");
}

/** Why a plugin that was found can do nothing. */
function faultsOf(loaded: LoadedPlugin, { plugin, entry, host }: FoundCopy): readonly Verdict[] {
  const { spec, options, from } = plugin;
  if (loaded.status === "failed") {
    const advice = `OpenCode imports ${entry}. Install carryover again, or correct what is written there.`;
    return [as("plugin", problem(`${nameOf(plugin)} cannot be loaded: ${loaded.reason}`, advice))];
  }
  const missing = FORK_OWN_TOOLS.filter((tool) => !loaded.tools.includes(tool));
  // What version 2 would register is not known here.
  if (host === "opencode" && missing.length === 0) return [];
  const { problems } = readPluginOptions(options);
  if (problems.length > 0 || host === "opencode2")
    return problems.map((each) =>
      as(
        "options",
        problem(`the plugin does nothing because of an option: ${each}`, `Correct it in ${from}.`),
      ),
    );
  const said = loaded.errors.length > 0 ? `: ${loaded.errors.join("; ")}` : "";
  const what = `${spec} was loaded and does not offer ${missing.join(", ")}${said}`;
  return [as("plugin", problem(what, `Is it carryover? It is named in ${from}.`))];
}

interface FoundCopy extends WorkingPlugin {
  readonly host: OpencodeHost;
}

function missingHooks(loaded: LoadedPlugin, { plugin, entry }: WorkingPlugin): readonly Verdict[] {
  const hooks = loaded.status === "loaded" ? loaded.hooks : [];
  const advice = `A file between OpenCode and carryover takes it away, or the copy is too old: look at ${entry}.`;
  return HOOKS.filter((hook) => !hooks.includes(hook)).map((hook) =>
    as("hooks", problem(`${nameOf(plugin)} does not return the hook ${hook}`, advice)),
  );
}

/** What the plugin does everything with. */
const HOOKS = [
  "event",
  "chat.message",
  "tool.execute.before",
  "tool.execute.after",
  "experimental.chat.messages.transform",
  "experimental.session.compacting",
];

/** Says when OpenCode keeps an older version. */
function checkAge({ version, cache, entry }: Found): readonly Verdict[] {
  if (version === undefined || !isOlder(version, VERSION)) return [];
  const what = `OpenCode runs carryover ${version}; this is ${VERSION}`;
  const advice =
    cache === undefined
      ? `Install it again where ${entry} is.`
      : `OpenCode keeps what it once fetched: remove ${cache} and start it again.`;
  return [{ check: "version", level: cache === undefined ? "note" : "problem", what, advice }];
}

type Found = Extract<FoundPlugin, { readonly status: "found" }>;

function isOlder(version: string, than: string): boolean {
  const [left, right] = [version, than].map((each) => each.split(/[.+-]/, 3).map(Number));
  const place = [0, 1, 2].find((index) => left?.[index] !== right?.[index]);
  return place !== undefined && (left?.[place] ?? 0) < (right?.[place] ?? 0);
}

function wrongForm({ spec, from }: ConfiguredPlugin): Verdict {
  return as(
    "plugin",
    problem(
      `${spec} stands in brackets with its options under \`plugins\` in ${from}, which OpenCode 2 does not read`,
      `Write { "package": "${spec}", "options": { … } } there, or the brackets under the key \`plugin\`.`,
    ),
  );
}

/** Not in the configuration, and the likely reason. Nothing is said of one that cannot be read: it may name the plugin. */
function notConfigured(setup: PluginCheck): readonly Verdict[] {
  const { files, plugins, settings } = setup.configuration;
  if (files.some((file) => file.problem !== undefined)) return [];
  const looked = files.map(({ path }) => path).join(", ") || "no configuration file was found";
  const what = `the plugin is in no configuration for this folder (${looked})`;
  if (setup.host === "opencode2") {
    const { inTerminal } = setup;
    const half = inTerminal === undefined ? "" : `; only the part for the terminal is, in ${inTerminal.from}`;
    const advice = `Run \`${programName(setup)} plugin add carryover\`, or add "plugins": ["carryover"] to opencode.json here.`;
    return [problem(`${what}${half}`, advice)];
  }
  const similar = plugins.find(({ spec }) => /carry.?over/i.test(packageOf(basename(spec)).name));
  if (similar !== undefined)
    return [
      problem(
        `${nameOf(similar)} is not this plugin`,
        `The name is "carryover": correct it in ${similar.from}.`,
      ),
    ];
  if (asArray(settings.plugins).length > 0 || isObject(settings.plugins))
    return [
      problem(
        "the configuration has a key `plugins`, which OpenCode 1 does not read",
        'The key is `plugin` there, and both versions read it: "plugin": ["carryover"].',
      ),
    ];
  if (isSet(setup.env.OPENCODE_DISABLE_PROJECT_CONFIG))
    return [
      problem(
        "OPENCODE_DISABLE_PROJECT_CONFIG is set: OpenCode reads no configuration of the project, and no other names the plugin",
        "Unset it, or run `opencode plugin carryover --global`.",
      ),
    ];
  return [
    problem(
      what,
      'Run `opencode plugin carryover --global`, or add "plugin": ["carryover"] to opencode.json here. A file in a plugin folder must end in .ts or .js.',
    ),
  ];
}
