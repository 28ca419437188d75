import { basename } from "node:path";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { readPluginOptions } from "../../plugin/context/options.ts";
import { asArray, isObject } from "../../text/unknown-value.ts";
import {
  type ConfiguredPlugin,
  type HostConfiguration,
  isSet,
  packageOf,
} from "../opencode/configuration.ts";
import { type Environment, type FoundPlugin, findPlugin, isOurs, loadPlugin } from "./find-plugin.ts";
import type { Finding } from "./finding.ts";

/** Finds our plugin in OpenCode's configuration, loads each copy as OpenCode would, and says which of them cannot work. */
export async function checkPlugin(setup: PluginCheck): Promise<CheckedPlugin> {
  const { configuration, directory, env, binary, version } = setup;
  const ours: ConfiguredPlugin[] = [];
  for (const plugin of configuration.plugins) if (await isOurs(plugin)) ours.push(plugin);
  if (ours.length === 0) return { findings: notConfigured(configuration, env) };
  const findings: Finding[] = [];
  const working: { readonly plugin: ConfiguredPlugin; readonly entry: string }[] = [];
  for (const plugin of ours) {
    const found = await findPlugin(plugin, { directory, env, host: "opencode" });
    const checked = found.status === "missing" ? [missing(plugin, found)] : await checkCopy(plugin, found);
    findings.push(...checked);
    if (found.status === "missing" || checked.every(({ check }) => check !== "configured")) continue;
    working.push({ plugin, entry: found.entry });
  }
  const [first] = working;
  return { findings: [...findings, ...checkDoubles(working.map(({ plugin }) => plugin))], ...first };

  async function checkCopy(plugin: ConfiguredPlugin, found: Found): Promise<Finding[]> {
    const { entry } = found;
    const loaded = await loadPlugin({
      entry,
      options: plugin.options,
      env,
      host: "opencode",
      ...(binary && { binary }),
    });
    if (loaded.status === "failed")
      return [
        {
          check: "plugin",
          level: "problem",
          what: `${nameOf(plugin)} cannot be loaded: ${loaded.reason}`,
          advice: `OpenCode imports ${entry}. Install carryover again, or correct what is written there.`,
        },
      ];
    const missingTools = FORK_OWN_TOOLS.filter((tool) => !loaded.tools.includes(tool));
    if (missingTools.length > 0) return withoutTools(plugin, loaded.errors, missingTools);
    const missingHooks = HOOKS.filter((hook) => !loaded.hooks.includes(hook));
    return [
      {
        check: "configured",
        level: "ok",
        what: `${nameOf(plugin)}${found.version ? `, version ${found.version},` : ""} offers ${FORK_OWN_TOOLS.join(", ")} (${entry})`,
      },
      ...missingHooks.map(
        (hook): Finding => ({
          check: "hooks",
          level: "problem",
          what: `${nameOf(plugin)} does not return the hook ${hook}`,
          advice: `A file between OpenCode and carryover takes it away, or the copy is too old: look at ${entry}.`,
        }),
      ),
      ...checkAge(found, version),
    ];
  }
}

interface CheckedPlugin {
  readonly findings: readonly Finding[];
  /** The plugin that offers our tools, where one does. */
  readonly plugin?: ConfiguredPlugin;
  /** Its file. */
  readonly entry?: string;
}

interface PluginCheck {
  readonly configuration: HostConfiguration;
  readonly directory: string;
  readonly env: Environment;
  /** The program of OpenCode, whose JavaScript loads the plugin; Node where unset. */
  readonly binary: string | undefined;
  /** The version of this program. */
  readonly version: string;
}

export type Found = Extract<FoundPlugin, { readonly status: "found" }>;

/** What the plugin does everything with. */
const HOOKS = [
  "event",
  "chat.message",
  "tool.execute.before",
  "tool.execute.after",
  "experimental.chat.messages.transform",
  "experimental.session.compacting",
];

export const nameOf = ({ spec, from }: ConfiguredPlugin): string => `${spec} (in ${from})`;

/** A plugin that is not where it is looked for. */
export function missing(
  plugin: ConfiguredPlugin,
  found: Extract<FoundPlugin, { status: "missing" }>,
): Finding {
  return {
    check: "plugin",
    level: "problem",
    what: `${nameOf(plugin)} is not there: ${found.reason}`,
    advice: found.advice,
  };
}

/** A plugin that was loaded and offers nothing: its options are wrong, or it is not ours. */
function withoutTools(
  { spec, options, from }: ConfiguredPlugin,
  errors: readonly string[],
  tools: readonly string[],
): Finding[] {
  const { problems } = readPluginOptions(options);
  if (problems.length === 0)
    return [
      {
        check: "plugin",
        level: "problem",
        what: `${spec} was loaded and does not offer ${tools.join(", ")}${errors.length > 0 ? `: ${errors.join("; ")}` : ""}`,
        advice: `Is it carryover? It is named in ${from}.`,
      },
    ];
  return wrongOptions(problems, from);
}

/** Options with which the plugin starts nothing. */
export function wrongOptions(problems: readonly string[], from: string): Finding[] {
  return problems.map((problem) => ({
    check: "options",
    level: "problem",
    what: `the plugin does nothing because of an option: ${problem}`,
    advice: `Correct it in ${from}.`,
  }));
}

/** Says when OpenCode keeps an older version. */
export function checkAge({ version: found, cache, entry }: Found, own: string): Finding[] {
  if (found === undefined || !isOlder(found, own)) return [];
  return [
    {
      check: "version",
      level: cache === undefined ? "note" : "problem",
      what: `OpenCode runs carryover ${found}; this is ${own}`,
      advice:
        cache === undefined
          ? `Install it again where ${entry} is.`
          : `OpenCode keeps what it once fetched: remove ${cache} and start it again.`,
    },
  ];
}

function isOlder(version: string, than: string): boolean {
  const [left, right] = [version, than].map((each) => each.split(/[.+-]/, 3).map(Number));
  const place = [0, 1, 2].find((index) => left?.[index] !== right?.[index]);
  return place !== undefined && (left?.[place] ?? 0) < (right?.[place] ?? 0);
}

/** Says when there are several. */
export function checkDoubles(working: readonly ConfiguredPlugin[]): Finding[] {
  const [, second] = working;
  if (second === undefined) return [];
  return [
    {
      check: "doubles",
      level: "problem",
      what: `${working.length} copies are configured, and each does everything: ${working.map(nameOf).join(", ")}`,
      advice: "Leave one of them.",
    },
  ];
}

/** Not in the configuration, and the likely reason. Nothing is said of one that cannot be read: it may name the plugin. */
function notConfigured(configuration: HostConfiguration, env: Environment): readonly Finding[] {
  return configuration.files.some(({ problem }) => problem !== undefined)
    ? []
    : [whyNotConfigured(configuration, env)];
}

function whyNotConfigured({ files, plugins, settings }: HostConfiguration, env: Environment): Finding {
  const check = "configured";
  const level = "problem";
  const similar = plugins.find(({ spec }) => /carry.?over/i.test(packageOf(basename(spec)).name));
  if (similar !== undefined)
    return {
      check,
      level,
      what: `${nameOf(similar)} is not this plugin`,
      advice: `The name is "carryover": correct it in ${similar.from}.`,
    };
  if (asArray(settings.plugins).length > 0 || isObject(settings.plugins))
    return {
      check,
      level,
      what: "the configuration has a key `plugins`, which OpenCode 1 does not read",
      advice: 'The key is `plugin` there, and both versions read it: "plugin": ["carryover"].',
    };
  if (isSet(env.OPENCODE_DISABLE_PROJECT_CONFIG))
    return {
      check,
      level,
      what: "OPENCODE_DISABLE_PROJECT_CONFIG is set: OpenCode reads no configuration of the project, and no other names the plugin",
      advice: "Unset it, or run `opencode plugin carryover --global`.",
    };
  const looked = files.map(({ path }) => path).join(", ") || "no configuration file was found";
  return {
    check,
    level,
    what: `the plugin is in no configuration for this folder (${looked})`,
    advice:
      'Run `opencode plugin carryover --global`, or add "plugin": ["carryover"] to opencode.json here. A file in a plugin folder must end in .ts or .js.',
  };
}
