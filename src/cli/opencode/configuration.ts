import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { configHome } from "../../plugin/stores/folders.ts";
import { errorMessage } from "../../text/failure.ts";
import { asArray, asObject, isObject, type UnknownObject } from "../../text/unknown-value.ts";
import { withoutMark } from "../files/text-encoding.ts";
import { lineAndColumn } from "../files/unreadable.ts";

/** OpenCode's configuration for a folder: every file that it reads, and the plugins in the order in which it loads them. */
export async function readHostConfiguration(place: ConfigurationPlace): Promise<HostConfiguration> {
  return readSources(sourcesOf(place));
}

/** What OpenCode's terminal is told for a folder, by `tui.json`: it has a list of plugins of its own. */
export async function readTerminalConfiguration(place: ConfigurationPlace): Promise<HostConfiguration> {
  return readSources(terminalSourcesOf(place));
}

async function readSources(sources: readonly Source[]): Promise<HostConfiguration> {
  const files: ConfigurationFile[] = [];
  const plugins: ConfiguredPlugin[] = [];
  const plugins2: ConfiguredPlugin[] = [];
  const pairs: ConfiguredPlugin[] = [];
  for (const source of sources) {
    if (source.type === "plugin-files") {
      const found = await pluginFilesIn(source.folder);
      plugins.push(...found);
      plugins2.push(...found);
      continue;
    }
    const text =
      source.type === "text" ? source.text : await readFile(source.path, "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const file = readConfiguration(source.path, text);
    files.push(file);
    const here = { from: source.path, folder: source.folder };
    const named = pluginsIn(file.config.plugin, here);
    plugins.push(...named);
    const isPair = (entry: unknown): boolean => Array.isArray(entry);
    const readable = asArray(file.config.plugins).filter((entry) => !isPair(entry));
    plugins2.push(...named, ...pluginsIn(readable, here));
    pairs.push(...pluginsIn(asArray(file.config.plugins).filter(isPair), here));
  }
  return {
    files,
    plugins: withoutDoubles(plugins),
    plugins2: withoutDoubles(plugins2),
    pairs,
    settings: files.reduce<UnknownObject>((merged, { config }) => deepMerge(merged, config), {}),
  };
}

interface ConfigurationPlace {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface HostConfiguration {
  readonly files: readonly ConfigurationFile[];
  readonly plugins: readonly ConfiguredPlugin[];
  /** Those that OpenCode 2 loads: it reads `plugin` and `plugins`. */
  readonly plugins2: readonly ConfiguredPlugin[];
  /** Those under the key of version 2 in the form of version 1, a pair of a name and options: no version loads them. */
  readonly pairs: readonly ConfiguredPlugin[];
  /** All files merged, later ones over earlier ones; lists are replaced, not joined. */
  readonly settings: UnknownObject;
}

interface ConfigurationFile {
  readonly path: string;
  readonly config: UnknownObject;
  /** Why it cannot be read. */
  readonly problem?: string;
}

export interface ConfiguredPlugin {
  /** A package, or the URL of a file or folder. */
  readonly spec: string;
  readonly options: unknown;
  /** The file that names it. */
  readonly from: string;
}

/** True for this package: by its name with or without a version, or by a path. */
export function isCarryover({ spec }: Pick<ConfiguredPlugin, "spec">): boolean {
  return /(?:^|[/\\])carryover(?:@[^/\\]*)?(?:$|[/\\.])/.test(spec);
}

/** Parses JSON with comments and trailing commas; throws where it is broken. */
export function parseJsonc(text: string): unknown {
  const errors: ParseError[] = [];
  const body = withoutMark(text);
  const value: unknown = parse(body, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error === undefined) return value;
  throw new SyntaxError(`${printParseErrorCode(error.error)} in ${lineAndColumn(body, error.offset)}`);
}

/** A file, a text, or a folder whose files are plugins. */
type Source =
  | { readonly type: "file"; readonly path: string; readonly folder: string }
  | { readonly type: "text"; readonly path: string; readonly folder: string; readonly text: string }
  | { readonly type: "plugin-files"; readonly folder: string };

/** Where OpenCode 1 looks, in its order: what comes later wins. */
function sourcesOf(place: ConfigurationPlace): readonly Source[] {
  const { directory, env } = place;
  const { global, project, own } = foldersOf(place);
  const text = env.OPENCODE_CONFIG_CONTENT;
  return [
    ...filesIn(global, ["config.json", ...CONFIG_NAMES]),
    ...namedFile(directory, env.OPENCODE_CONFIG),
    ...project.flatMap((folder) => filesIn(folder, CONFIG_NAMES)),
    ...[global, ...own].flatMap((folder): Source[] => [
      ...(folder === global ? [] : filesIn(folder, CONFIG_NAMES)),
      { type: "plugin-files", folder },
    ]),
    ...(text ? [{ type: "text", path: "OPENCODE_CONFIG_CONTENT", folder: directory, text } as const] : []),
    ...filesIn(managedFolder(env), CONFIG_NAMES),
  ];
}

function terminalSourcesOf(place: ConfigurationPlace): readonly Source[] {
  const { global, project, own } = foldersOf(place);
  return [
    ...filesIn(global, TERMINAL_NAMES),
    ...namedFile(place.directory, place.env.OPENCODE_TUI_CONFIG),
    ...[...project, ...own].flatMap((folder) => filesIn(folder, TERMINAL_NAMES)),
  ];
}

/** The user's folder, those of the project, and those that hold more than a configuration. */
function foldersOf({ directory, env }: ConfigurationPlace): ConfigurationFolders {
  const global = globalFolder(env);
  const project = isSet(env.OPENCODE_DISABLE_PROJECT_CONFIG) ? [] : projectFolders(directory);
  const named = env.OPENCODE_CONFIG_DIR;
  const own = new Set([
    ...project.toReversed().map((folder) => join(folder, OWN_FOLDER)),
    join(env.HOME || homedir(), OWN_FOLDER),
    ...(named ? [resolve(directory, named)] : []),
  ]);
  own.delete(global);
  return { global, project, own: [...own] };
}

interface ConfigurationFolders {
  readonly global: string;
  readonly project: readonly string[];
  readonly own: readonly string[];
}

/** The folder of the user's own configuration. */
export function globalFolder(env: ConfigurationPlace["env"]): string {
  return join(configHome(env), "opencode");
}

function filesIn(folder: string, names: readonly string[]): readonly Source[] {
  return names.map((name) => ({ type: "file", path: join(folder, name), folder }));
}

function namedFile(directory: string, named: string | undefined): readonly Source[] {
  if (!named) return [];
  const path = resolve(directory, named);
  return [{ type: "file", path, folder: dirname(path) }];
}

const CONFIG_NAMES: readonly string[] = ["opencode.json", "opencode.jsonc"];
const TERMINAL_NAMES: readonly string[] = ["tui.json", "tui.jsonc"];
const OWN_FOLDER = ".opencode";

/** Where an administrator puts a configuration that users cannot change. */
function managedFolder({ ProgramData }: ConfigurationPlace["env"]): string {
  if (process.platform === "darwin") return "/Library/Application Support/opencode";
  if (process.platform === "win32") return join(ProgramData || "C:\\ProgramData", "opencode");
  return "/etc/opencode";
}

/** True for a variable that switches something on, as OpenCode reads it. */
export function isSet(value: string | undefined): boolean {
  return /^(?:1|true)$/i.test(value ?? "");
}

/** The folders of the project down to this one, outermost first. */
function projectFolders(directory: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (folder === dirname(folder) || existsSync(join(folder, ".git"))) return folders;
  }
}

function readConfiguration(path: string, text: string): ConfigurationFile {
  try {
    const config = asObject(parseJsonc(text));
    const problem = pluginListProblem(config.plugin);
    return { path, config, ...(problem !== undefined && { problem }) };
  } catch (error) {
    return { path, config: {}, problem: errorMessage(error) };
  }
}

/** What OpenCode refuses in a list of plugins; it then starts with none of the file. */
function pluginListProblem(plugin: unknown): string | undefined {
  if (plugin === undefined) return undefined;
  if (!Array.isArray(plugin)) return '`plugin` is not a list; write "plugin": ["carryover"]';
  const wrong = plugin.findIndex((entry: unknown) => {
    if (typeof entry === "string") return false;
    const [spec, options] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
    return typeof spec !== "string" || (Array.isArray(entry) && entry.length !== 2) || !isObject(options);
  });
  if (wrong === -1) return undefined;
  const isLooseOptions = isObject(plugin[wrong]) && !Array.isArray(plugin[wrong]);
  return isLooseOptions
    ? `plugin[${wrong}] is an object; options belong in brackets with the name: [["carryover", { … }]]`
    : `plugin[${wrong}] is neither a text nor a pair of a name and options: [["carryover", { … }]]`;
}

/** The plugins of a list: names, pairs of a name and options, or objects with both, as OpenCode 2 writes them. */
function pluginsIn(list: unknown, { from, folder }: NamedIn): readonly ConfiguredPlugin[] {
  return asArray(list).flatMap((entry): ConfiguredPlugin[] => {
    const { package: name, options: given } = asObject(entry);
    const [spec, options] = Array.isArray(entry) ? entry : isObject(entry) ? [name, given] : [entry];
    return typeof spec === "string" ? [{ spec: resolveSpec(spec, folder), options, from }] : [];
  });
}

interface NamedIn {
  readonly from: string;
  readonly folder: string;
}

/** The plugins of OpenCode 2's terminal: those of `cli.json`, which it makes out of `tui.json`, and files in `plugins/tui`. */
export async function readTerminalPlugins({ directory, env }: ConfigurationPlace): Promise<TerminalPlugins> {
  const global = join(configHome(env), "opencode");
  const [cli, tui] = ["cli.json", "tui.json"].map((name) => join(global, name)) as [string, string];
  const named = await readFile(cli, "utf8").catch(() => undefined);
  const [from, text, key] =
    named === undefined
      ? [tui, await readFile(tui, "utf8").catch(() => "{}"), "plugin"]
      : [cli, named, "plugins"];
  const { config, problem } = readConfiguration(from, text);
  const folders = [global, ...projectFolders(directory).map((folder) => join(folder, OWN_FOLDER))];
  const found = await Promise.all(folders.map((folder) => filesOf(join(folder, "plugins", "tui"))));
  const plugins = [...found.flat(), ...pluginsIn(config[key], { from, folder: global })];
  return {
    file: cli,
    plugins,
    ...(problem !== undefined && { problem: `${from} cannot be read: ${problem}` }),
  };
}

export interface TerminalPlugins {
  /** Where they are to be named. */
  readonly file: string;
  readonly plugins: readonly ConfiguredPlugin[];
  /** Why the file that names them cannot be read. */
  readonly problem?: string;
}

/** A path is meant from the folder of the file that names it. */
function resolveSpec(spec: string, folder: string): string {
  if (spec.startsWith("file://") || !isPathSpec(spec)) return spec;
  return pathToFileURL(resolve(folder, spec)).href;
}

/** True for a file or folder, false for a package. */
export function isPathSpec(spec: string): boolean {
  return (
    spec.startsWith("file://") || spec.startsWith(".") || isAbsolute(spec) || /^[A-Za-z]:[\\/]/.test(spec)
  );
}

/** The name of the package that a spec means, and its version, if it says one. */
export function packageOf(spec: string): { readonly name: string; readonly version?: string } {
  const at = spec.indexOf("@", 1);
  return at === -1 ? { name: spec } : { name: spec.slice(0, at), version: spec.slice(at + 1) };
}

/** OpenCode loads a package once, whatever its version, and a file once; the last mention wins. */
function withoutDoubles(plugins: readonly ConfiguredPlugin[]): readonly ConfiguredPlugin[] {
  const identityOf = ({ spec }: ConfiguredPlugin): string => (isPathSpec(spec) ? spec : packageOf(spec).name);
  return plugins.filter(
    (plugin, index) => !plugins.slice(index + 1).some((later) => identityOf(later) === identityOf(plugin)),
  );
}

async function pluginFilesIn(folder: string): Promise<readonly ConfiguredPlugin[]> {
  const found = await Promise.all(["plugin", "plugins"].map((name) => filesOf(join(folder, name))));
  return found.flat();
}

async function filesOf(folder: string): Promise<readonly ConfiguredPlugin[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((file) => /\.[jt]s$/.test(file))
    .map((file) => ({ spec: pathToFileURL(join(folder, file)).href, options: undefined, from: folder }));
}

function deepMerge(base: UnknownObject, over: UnknownObject): UnknownObject {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const isBoth = isObject(value) && isObject(result[key]);
    result[key] = isBoth ? deepMerge(asObject(result[key]), asObject(value)) : value;
  }
  return result;
}
