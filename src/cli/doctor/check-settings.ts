import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import type { Environment } from "../../plugin/context/context.ts";
import { readPluginOptions } from "../../plugin/context/options.ts";
import { asObject } from "../../text/unknown-value.ts";
import {
  type ConfiguredPlugin,
  type HostConfiguration,
  isCarryover,
  isSet,
} from "../opencode/configuration.ts";
import { type Check, note, problem, type Verdict } from "./check.ts";

/** What of OpenCode's configuration cannot be read, and which plugins and settings interfere. */
export const SETTINGS_CHECKS: readonly Check<SettingsFacts>[] = [
  {
    check: "config-file",
    run: ({ files }) =>
      files.flatMap(({ path, problem: why }) =>
        why === undefined ? [] : [problem(`${path} cannot be read: ${why}`)],
      ),
    advice: "Correct it: OpenCode does not start with a broken configuration.",
  },
  {
    // People first try a key of our own for the options.
    check: "options",
    run: ({ settings }) =>
      settings.carryover === undefined
        ? undefined
        : problem("options stand under a key `carryover`, where nothing reads them"),
    advice: 'They belong behind the name: "plugin": [["carryover", { … }]].',
  },
  { check: "other-plugins", run: otherPlugins },
  {
    check: "host-compaction",
    run: ({ settings }) =>
      asObject(settings.compaction).auto === false
        ? problem("compaction.auto is false: a full window ends the session with an error")
        : undefined,
    advice: "Remove it from the configuration; the plugin does not compact by itself.",
  },
  { check: "host-pruning", run: hostPruning },
  {
    check: "tools",
    run: ({ settings: { tools, permission } }) =>
      FORK_OWN_TOOLS.filter(
        (tool) => asObject(tools)[tool] === false || asObject(permission)[tool] === "deny",
      ).map((tool) => problem(`the tool ${tool} is switched off in the configuration`)),
    advice: "Allow it, or the model cannot use what the plugin offers.",
  },
  {
    check: "environment",
    run: ({ env }) =>
      VARIABLES.flatMap(({ name, level, what, advice }) =>
        isSet(env[name]) ? [{ level, what, advice }] : [],
      ),
  },
];

interface SettingsFacts extends Pick<HostConfiguration, "files" | "plugins" | "settings"> {
  readonly env: Environment;
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

function otherPlugins({ plugins }: SettingsFacts): readonly Verdict[] {
  const own = plugins.findIndex(isCarryover);
  return plugins.flatMap(({ spec, from }: ConfiguredPlugin, index) => {
    const [, name, advice] = OTHER_CONTEXT_PLUGINS.find(([pattern]) => pattern.test(spec)) ?? [];
    if (name === undefined) return [];
    if (own === -1 || index < own) return [note(`${name} (${spec}) also edits the conversation`, advice)];
    return [
      problem(
        `${name} (${spec}) comes after carryover, so that forks do not inherit its edits`,
        `List it before carryover in ${from}. ${advice}`,
      ),
    ];
  });
}

function hostPruning({ settings, plugins }: SettingsFacts): Verdict | undefined {
  if (asObject(settings.compaction).prune !== true) return undefined;
  const { prune } = readPluginOptions(plugins.find(isCarryover)?.options).options;
  if (prune === "auto")
    return problem(
      "compaction.prune and our prune are both on: the host's causes cache misses without weighing them",
      "Set compaction.prune to false.",
    );
  if (prune === "when-full")
    return note(
      "compaction.prune is on: OpenCode clears old outputs whole after a turn, long before ours would shorten them by line with a handle",
      'Set compaction.prune to false, or our `prune` to "off" if you want the host\'s.',
    );
  return undefined;
}

const VARIABLES: readonly (Verdict & { readonly name: string })[] = [
  {
    name: "OPENCODE_PURE",
    level: "problem",
    what: "OPENCODE_PURE is set: OpenCode loads no plugin",
    advice: "Unset it.",
  },
  {
    name: "OPENCODE_DISABLE_AUTOCOMPACT",
    level: "problem",
    what: "OPENCODE_DISABLE_AUTOCOMPACT is set: a full window ends the session with an error",
    advice: "Unset it; the plugin does not compact by itself.",
  },
  {
    name: "OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS",
    level: "note",
    what: "the host's own background agents are on; they inherit nothing of the conversation",
    advice: "Unset OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS if the model uses them instead of fork.",
  },
];
