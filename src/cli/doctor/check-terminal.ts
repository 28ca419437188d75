import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "../../plugin/context/context.ts";
import {
  type ConfiguredPlugin,
  globalFolder,
  type HostConfiguration,
  isCarryover,
  isPathSpec,
  type TerminalPlugins,
} from "../opencode/configuration.ts";
import { note, ok, problem, type Verdict } from "./check.ts";
import { nameOf } from "./check-plugin.ts";
import { isOurs } from "./find-plugin.ts";

/** Whether OpenCode 1's terminal loads its part of the plugin that works here; without it only `/forks` is missing. */
export async function checkTerminal(
  plugin: ConfiguredPlugin,
  { configuration: { files, plugins }, env }: TerminalPlace,
): Promise<readonly Verdict[]> {
  const broken = files.flatMap(({ path, problem: why }) =>
    why === undefined ? [] : [note(`OpenCode's terminal skips ${path}: ${why}`, "Correct it.")],
  );
  for (const each of plugins)
    if (await isOurs(each)) return [...broken, ok(`/forks is there: ${each.from} names the plugin`)];
  const { spec, from } = plugin;
  const isConfig = /^opencode\.jsonc?$/.test(basename(from));
  const file = join(isConfig ? dirname(from) : globalFolder(env), "tui.json");
  // A file that takes the plugin from elsewhere has no part for the terminal.
  const isPackage = !isPathSpec(spec) || !/\.[cm]?[jt]s$/.test(spec);
  const entry = isPackage ? JSON.stringify(spec) : "the path of the package's folder";
  return [
    ...broken,
    note(
      "/forks is missing: no tui.json names the plugin, and OpenCode's terminal reads no other file",
      `Add { "plugin": [${entry}] } to ${file} and start OpenCode anew.`,
    ),
  ];
}

interface TerminalPlace {
  /** What `tui.json` says. */
  readonly configuration: Pick<HostConfiguration, "files" | "plugins">;
  readonly env: Environment;
}

/** Whether OpenCode 2's terminal has its part, which is named apart from that of the server. */
export function checkTerminal2({ file, plugins, problem: unreadable }: TerminalPlugins): Verdict {
  const named = plugins.find(isCarryover);
  if (named === undefined)
    return unreadable === undefined
      ? note(
          "the part for the terminal is named nowhere: the sidebar, the status line, /forks and /context may be missing",
          `Add "plugins": ["carryover"] to ${file}, unless your OpenCode finds it in the package by itself.`,
        )
      : problem(unreadable, "Correct it: the terminal loads no plugin of it.");
  const path = isPathSpec(named.spec) ? fileURLToPath(named.spec) : undefined;
  if (path !== undefined && !existsSync(path))
    return problem(
      `the part for the terminal is not there: there is no ${path}`,
      `Correct the path in ${named.from}.`,
    );
  return ok(`the part for the terminal is ${nameOf(named)}`);
}
