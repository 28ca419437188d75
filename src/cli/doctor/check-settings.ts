import { basename, dirname, join } from "node:path";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { type PluginOptions, readPluginOptions } from "../../plugin/context/options.ts";
import { asObject, type UnknownObject } from "../../text/unknown-value.ts";
import {
  type ConfiguredPlugin,
  globalFolder,
  type HostConfiguration,
  isCarryover,
  isPathSpec,
  isSet,
} from "../opencode/configuration.ts";
import { isOurs } from "./find-plugin.ts";
import type { Finding } from "./finding.ts";

/** Checks OpenCode's configuration: what it cannot read, and which plugins or settings interfere. */
export function checkSettings(
  { files, plugins, settings }: Omit<HostConfiguration, "plugins2" | "pairs">,
  env: Environment,
): Finding[] {
  const ours = plugins.find(isCarryover);
  return [
    ...files.flatMap(({ path, problem }) => (problem === undefined ? [] : [unreadable(path, problem)])),
    ...checkPlaceOfOptions(settings),
    ...checkOtherPlugins(plugins),
    ...checkHostSettings(settings, readPluginOptions(ours?.options).options.prune),
    ...checkEnvironment(env),
  ];
}

type Environment = Readonly<Record<string, string | undefined>>;

function unreadable(path: string, problem: string): Finding {
  return {
    check: "config-file",
    level: "problem",
    what: `${path} cannot be read: ${problem}`,
    advice: "Correct it: OpenCode does not start with a broken configuration.",
  };
}

/** People first try a key of our own for the options, which OpenCode does not read. */
function checkPlaceOfOptions({ carryover }: UnknownObject): Finding[] {
  if (carryover === undefined) return [];
  return [
    {
      check: "options",
      level: "problem",
      what: "options stand under a key `carryover`, where nothing reads them",
      advice: 'They belong behind the name: "plugin": [["carryover", { … }]].',
    },
  ];
}

/** Other plugins that change the requests to the model. */
const OTHER_CONTEXT_PLUGINS: readonly (readonly [pattern: RegExp, name: string, advice: string])[] = [
  [
    /opencode-dcp|dynamic-context-pruning/,
    "Dynamic Context Pruning",
    'Set our `prune` to "off": both clear old outputs.',
  ],
  [/magic-context/, "Magic Context", 'Set our `prune` to "off", and expect its own compaction.'],
  [/oh-my-open(?:code|agent)/, "Oh My OpenCode", "Its background agents work beside our forks."],
  [/async-agents/, "async agents", "Remove it: its tools do what our forks do."],
];

function checkOtherPlugins(plugins: readonly ConfiguredPlugin[]): Finding[] {
  const own = plugins.findIndex(isCarryover);
  return plugins.flatMap(({ spec, from }, index): Finding[] => {
    const rival = OTHER_CONTEXT_PLUGINS.find(([pattern]) => pattern.test(spec));
    if (rival === undefined) return [];
    const [, name, advice] = rival;
    const check = "other-plugins";
    if (own !== -1 && index > own)
      return [
        {
          check,
          level: "problem",
          what: `${name} (${spec}) comes after carryover, so that forks do not inherit its edits`,
          advice: `List it before carryover in ${from}. ${advice}`,
        },
      ];
    return [{ check, level: "note", what: `${name} (${spec}) also edits the conversation`, advice }];
  });
}

function checkHostSettings(settings: UnknownObject, prune: PluginOptions["prune"]): Finding[] {
  const { auto, prune: hostPrune } = asObject(settings.compaction);
  const { tools, permission } = settings;
  const findings: Finding[] = [];
  if (auto === false)
    findings.push({
      check: "host-compaction",
      level: "problem",
      what: "compaction.auto is false: a full window ends the session with an error",
      advice: "Remove it from the configuration; the plugin does not compact by itself.",
    });
  if (hostPrune === true && prune === "auto")
    findings.push({
      check: "host-pruning",
      level: "problem",
      what: "compaction.prune and our prune are both on: the host's breaks the cached prefix without weighing it",
      advice: "Set compaction.prune to false.",
    });
  if (hostPrune === true && prune === "when-full")
    findings.push({
      check: "host-pruning",
      level: "note",
      what: "compaction.prune is on: OpenCode clears old outputs whole after a turn, long before ours would shorten them by line with a handle",
      advice: 'Set compaction.prune to false, or our `prune` to "off" if you want the host\'s.',
    });
  for (const tool of FORK_OWN_TOOLS) {
    if (asObject(tools)[tool] === false || asObject(permission)[tool] === "deny")
      findings.push({
        check: "tools",
        level: "problem",
        what: `the tool ${tool} is switched off in the configuration`,
        advice: "Allow it, or the model cannot use what the plugin offers.",
      });
  }
  return findings;
}

/** Whether the terminal loads its part of the plugin that works here; without it only `/forks` is missing. */
export async function checkTerminal(
  plugin: ConfiguredPlugin,
  { configuration, env }: TerminalPlace,
): Promise<Finding[]> {
  const { files, plugins } = configuration;
  const check = "terminal";
  const broken = files.flatMap(({ path, problem }): Finding[] =>
    problem === undefined
      ? []
      : [
          {
            check,
            level: "note",
            what: `OpenCode's terminal skips ${path}: ${problem}`,
            advice: "Correct it.",
          },
        ],
  );
  for (const each of plugins)
    if (await isOurs(each))
      return [...broken, { check, level: "ok", what: `/forks is there: ${each.from} names the plugin` }];
  const { spec, from } = plugin;
  const isConfig = /^opencode\.jsonc?$/.test(basename(from));
  const file = join(isConfig ? dirname(from) : globalFolder(env), "tui.json");
  // A file that takes the plugin from elsewhere has no part for the terminal.
  const isPackage = !isPathSpec(spec) || !/\.[cm]?[jt]s$/.test(spec);
  const entry = isPackage ? JSON.stringify(spec) : "the path of the package's folder";
  return [
    ...broken,
    {
      check,
      level: "note",
      what: "/forks is missing: no tui.json names the plugin, and OpenCode's terminal reads no other file",
      advice: `Add { "plugin": [${entry}] } to ${file} and start OpenCode anew.`,
    },
  ];
}

interface TerminalPlace {
  /** What `tui.json` says. */
  readonly configuration: Omit<HostConfiguration, "plugins2" | "pairs">;
  readonly env: Environment;
}

function checkEnvironment(env: Environment): Finding[] {
  const findings: Finding[] = [];
  if (isSet(env.OPENCODE_PURE))
    findings.push({
      check: "environment",
      level: "problem",
      what: "OPENCODE_PURE is set: OpenCode loads no plugin",
      advice: "Unset it.",
    });
  if (isSet(env.OPENCODE_DISABLE_AUTOCOMPACT))
    findings.push({
      check: "environment",
      level: "problem",
      what: "OPENCODE_DISABLE_AUTOCOMPACT is set: a full window ends the session with an error",
      advice: "Unset it; the plugin does not compact by itself.",
    });
  if (isSet(env.OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS))
    findings.push({
      check: "environment",
      level: "note",
      what: "the host's own background agents are on; they inherit nothing of the conversation",
      advice: "Unset OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS if the model uses them instead of fork.",
    });
  return findings;
}
