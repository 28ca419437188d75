import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** What goes under `plugin` in OpenCode's configuration: other plugins first, so that ours sees what they leave. */
export function pluginSpecs({ plugin = "none", otherPlugins = [] }: LoadedPlugins): readonly PluginSpec[] {
  if (plugin === "none") return otherPlugins;
  if (!existsSync(PLUGIN_FILE)) {
    throw new Error("The plugin was not built: is there a src/server.ts, and did its build succeed?");
  }
  return [...otherPlugins, [pathToFileURL(PLUGIN_FILE).href, plugin]];
}

export interface LoadedPlugins extends OtherPlugins {
  readonly plugin?: PluginOptions | "none";
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

export type PluginChoice = OtherPlugins & (DefaultPlugin | PluginWithOptions);

interface OtherPlugins {
  readonly otherPlugins?: readonly PluginSpec[];
}

interface DefaultPlugin {
  /** Empty: our plugin as a user installs it. Unset or none: it is not loaded. */
  readonly plugin?: Readonly<Record<string, never>> | "none";
}

/** Defaults are the product: whoever sets an option says why, and where the same is shown without. */
export interface PluginWithOptions {
  readonly plugin: PluginOptions;
  /** Why this cannot be shown with default options. */
  readonly why: string;
  /** The name of the scenario that shows the feature with default options; or why there can be none. */
  readonly twin: string | { readonly none: string };
}

export type PluginOptions = Readonly<Record<string, unknown>>;

/** A file URL, a path or a package, alone or with its options. */
export type PluginSpec = string | readonly [string, Readonly<Record<string, unknown>>];

const project = resolve(import.meta.dirname, "../../..");

/** The entry of the plugin, and the one file that scenarios load; nothing else may lie beside it. */
export const PLUGIN_ENTRY: string = resolve(project, "src/server.ts");
export const PLUGIN_FILE: string = resolve(project, ".rig/plugin/carryover.mjs");

/** The package as a user installs it, unpacked. */
export const PACKED_FOLDER: string = resolve(project, ".rig/packed/package");
