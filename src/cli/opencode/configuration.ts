import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { configHome } from "../../plugin/stores/folders.ts";
import { errorMessage } from "../../text/display.ts";
import { asObject, asString, isObject, type UnknownObject } from "../../text/json.ts";
import { lineAndColumn } from "../files/read-input.ts";

/** OpenCode's configuration for a folder: every file that it reads, and the plugins in the order in which it loads them. */
export async function readHostConfiguration({
  directory,
  env,
}: ConfigurationPlace): Promise<HostConfiguration> {
  const files: ConfigurationFile[] = [];
  const folders = [join(configHome(env), "opencode"), ...projectFolders(directory)];
  const named = asString(env.OPENCODE_CONFIG);
  const paths = [
    ...CONFIG_NAMES.map((name) => join(folders[0] ?? "", name)),
    ...(named === undefined ? [] : [resolve(directory, named)]),
    ...folders.slice(1).flatMap((folder) => CONFIG_NAMES.map((name) => join(folder, name))),
    ...(env.OPENCODE_CONFIG_DIR ? CONFIG_NAMES.map((name) => join(env.OPENCODE_CONFIG_DIR ?? "", name)) : []),
  ];
  for (const path of paths) {
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text !== undefined) files.push(readConfiguration(path, text));
  }
  if (env.OPENCODE_CONFIG_CONTENT)
    files.push(readConfiguration("OPENCODE_CONFIG_CONTENT", env.OPENCODE_CONFIG_CONTENT));
  const listed = files.flatMap(({ path, config }) => pluginsIn(config, path));
  const local = (await Promise.all(folders.map(pluginFilesIn))).flat();
  return {
    files,
    plugins: [...new Map([...listed, ...local].map((plugin) => [plugin.spec, plugin])).values()],
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
  /** A package, a path or a file URL. */
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
  const body = text.replace(/^\uFEFF/, "");
  const value: unknown = parse(body, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error === undefined) return value;
  throw new SyntaxError(`${printParseErrorCode(error.error)} in ${lineAndColumn(body, error.offset)}`);
}

const CONFIG_NAMES = ["config.json", "opencode.json", "opencode.jsonc"];

/** The folders of the project down to this one, outermost first, each with its `.opencode`. */
function projectFolders(directory: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    folders.unshift(folder, join(folder, ".opencode"));
    if (folder === dirname(folder) || existsSync(join(folder, ".git"))) return folders;
  }
}

function readConfiguration(path: string, text: string): ConfigurationFile {
  try {
    return { path, config: asObject(parseJsonc(text)) };
  } catch (error) {
    return { path, config: {}, problem: errorMessage(error) };
  }
}

function pluginsIn(config: UnknownObject, from: string): readonly ConfiguredPlugin[] {
  const { plugin } = config;
  return (Array.isArray(plugin) ? plugin : []).flatMap((entry: unknown): ConfiguredPlugin[] => {
    const [spec, options] = Array.isArray(entry) ? (entry as readonly unknown[]) : [entry];
    return typeof spec === "string" ? [{ spec, options, from }] : [];
  });
}

async function pluginFilesIn(folder: string): Promise<readonly ConfiguredPlugin[]> {
  // OpenCode loads plugin files from its own folders only.
  if (basename(folder) !== ".opencode" && basename(folder) !== "opencode") return [];
  const found = await Promise.all(
    ["plugin", "plugins"].map(async (name) => {
      const names = await readdir(join(folder, name)).catch(() => []);
      return names
        .filter((file) => /\.[cm]?[jt]s$/.test(file))
        .map((file) => ({ spec: join(folder, name, file), options: undefined, from: join(folder, name) }));
    }),
  );
  return found.flat();
}

function deepMerge(base: UnknownObject, over: UnknownObject): UnknownObject {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const isBoth = isObject(value) && isObject(result[key]);
    result[key] = isBoth ? deepMerge(asObject(result[key]), asObject(value)) : value;
  }
  return result;
}
