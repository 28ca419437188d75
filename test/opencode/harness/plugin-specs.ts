import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** What goes under `plugin` in OpenCode's configuration: other plugins first, so that ours sees what they leave. */
export function pluginSpecs({ plugin = "none", otherPlugins = [] }: PluginChoice): readonly PluginSpec[] {
  if (plugin === "none") return otherPlugins;
  if (!existsSync(PLUGIN_FILE)) {
    throw new Error("The plugin was not built: is there a src/server.ts, and did its build succeed?");
  }
  return [...otherPlugins, [pathToFileURL(PLUGIN_FILE).href, plugin]];
}

/** Writes small plugins, and gives their specs. */
export function writeProbes(
  folder: string,
  sources: Readonly<Record<string, string>>,
): readonly PluginSpec[] {
  mkdirSync(folder, { recursive: true });
  return Object.entries(sources).map(([name, source]) => {
    const file = resolve(folder, `${name}.mjs`);
    writeFileSync(file, source);
    return pathToFileURL(file).href;
  });
}

export interface PluginChoice {
  /** The options of our plugin; unset or none means that it is not loaded. */
  readonly plugin?: Readonly<Record<string, unknown>> | "none";
  readonly otherPlugins?: readonly PluginSpec[];
}

/** A file URL, a path or a package, alone or with its options. */
export type PluginSpec = string | readonly [string, Readonly<Record<string, unknown>>];

const project = resolve(import.meta.dirname, "../../..");

/** The entry of the plugin, and the one file that scenarios load; nothing else may lie beside it. */
export const PLUGIN_ENTRY: string = resolve(project, "src/server.ts");
export const PLUGIN_FILE: string = resolve(project, ".rig/plugin/carryover.mjs");

/** The package as a user installs it, unpacked. */
export const PACKED_FOLDER: string = resolve(project, ".rig/packed/package");
