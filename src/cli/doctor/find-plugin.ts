import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "../../plugin/context/context.ts";
import { configHome } from "../../plugin/stores/folders.ts";
import { jsonOrText } from "../../text/json.ts";
import { asObject, asString, isObject, type UnknownObject } from "../../text/unknown-value.ts";
import { type ConfiguredPlugin, isCarryover, isPathSpec, packageOf } from "../opencode/configuration.ts";

/** The file that OpenCode imports for a configured plugin, found by its rules; or why there is none, and what to do. */
export async function findPlugin({ spec, from }: ConfiguredPlugin, place: Place): Promise<FoundPlugin> {
  return isPathSpec(spec) ? findByPath({ spec, from }, place) : findPackage(spec, place);
}

/** OpenCode 1 or 2. */
export type OpencodeHost = "opencode" | "opencode2";

interface Place {
  readonly directory: string;
  readonly env: Environment;
  readonly host: OpencodeHost;
  /** The name under which the program is called. */
  readonly program: string;
}

export type FoundPlugin =
  | {
      readonly status: "found";
      readonly entry: string;
      /** The package's version, where it has one. */
      readonly version?: string;
      /** The folder in OpenCode's cache that has it. */
      readonly cache?: string;
    }
  | { readonly status: "missing"; readonly reason: string; readonly advice: string };

/** True for our package by its name or path, in a folder of any name, and for a file that takes it from there. */
export async function isOurs(plugin: ConfiguredPlugin): Promise<boolean> {
  if (isCarryover(plugin)) return true;
  if (!isPathSpec(plugin.spec)) return false;
  const path = fileURLToPath(plugin.spec);
  if ((await readPackage(path))?.name === "carryover") return true;
  const text = await readFile(path, "utf8").catch(() => "");
  return /\bfrom\s*["'][^"']*carryover|import\(?\s*["'][^"']*carryover/.test(text);
}

async function findByPath(
  { spec, from }: Pick<ConfiguredPlugin, "spec" | "from">,
  { host }: Place,
): Promise<FoundPlugin> {
  const path = fileURLToPath(spec);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined)
    return { status: "missing", reason: `there is no ${path}`, advice: `Correct the path in ${from}.` };
  const folder = found.isDirectory() ? path : dirname(path);
  const json = await readPackage(folder);
  const entry =
    (json && entryOf(json, folder)) ??
    (found.isDirectory()
      ? INDEX_FILES.map((name) => join(path, name)).find((file) => existsSync(file))
      : path);
  if (entry === undefined) return noEntry(path, json);
  if (host === "opencode2" && found.isDirectory())
    return {
      status: "missing",
      reason: `${path} is a folder, and OpenCode 2 imports a file`,
      advice: `Write ${entry} in its place in ${from}.`,
    };
  // OpenCode 2 does not look at the package around a file.
  return foundAt(host === "opencode2" ? path : entry, json);
}

const INDEX_FILES = ["index.ts", "index.tsx", "index.js", "index.mjs", "index.cjs"];

/** A package is looked for in OpenCode's own cache and nowhere else. */
async function findPackage(spec: string, place: Place): Promise<FoundPlugin> {
  const { name, version } = packageOf(spec);
  const cache = join(
    cacheHome(place.env),
    "opencode",
    "packages",
    // OpenCode 2 names the folder as the package is named in the configuration.
    version === undefined && place.host === "opencode" ? `${name}@latest` : spec,
  );
  const folder = join(cache, "node_modules", name);
  const json = await readPackage(folder);
  if (json === undefined) return notInstalled(name, place);
  const entry = entryOf(json, folder);
  return entry === undefined ? noEntry(folder, json) : { ...foundAt(entry, json), cache };
}

function notInstalled(name: string, { directory, env, host, program }: Place): FoundPlugin {
  const [install, path] =
    host === "opencode"
      ? [`${program} plugin ${name}`, `./node_modules/${name}`]
      : [`${program} plugin add ${name}`, `./node_modules/${name}/dist/server.js`];
  const beside = [join(configHome(env), "opencode"), directory, join(directory, ".opencode")].find((folder) =>
    existsSync(join(folder, "node_modules", name)),
  );
  const reason = `the package ${name} is not in OpenCode's cache`;
  return beside === undefined
    ? {
        status: "missing",
        reason: `${reason}, and OpenCode could not install it or has not tried yet`,
        advice: `Start OpenCode with a network, or run \`${install}\` to see the error; is the name right?`,
      }
    : {
        status: "missing",
        reason: `${reason}; the one in ${join(beside, "node_modules")} is not looked at`,
        advice: `Write "${path}" as the plugin in ${join(beside, "opencode.json")}, or let OpenCode install it: ${install}`,
      };
}

function noEntry(folder: string, json: UnknownObject | undefined): FoundPlugin {
  const { exports } = json ?? {};
  const isNewer = isObject(exports) && ("./plugin" in exports || "./v2" in exports);
  return {
    status: "missing",
    reason: isNewer
      ? `${folder} is a plugin for OpenCode 2 only: it has no "./server"`
      : `${folder} has no entry for a plugin ("./server" in exports, or main)`,
    advice: "Install carryover again: opencode plugin carryover --force",
  };
}

/** `exports["./server"]`, else `main`; what lies outside of the package is refused. */
function entryOf({ exports, main }: UnknownObject, folder: string): string | undefined {
  const server = asObject(exports)["./server"];
  const named =
    asString(server) ??
    asString(asObject(server).import) ??
    asString(asObject(server).default) ??
    asString(main);
  if (named === undefined || named.trim() === "") return undefined;
  const file = isAbsolute(named) ? named : resolve(folder, named);
  return file.startsWith(resolve(folder)) ? file : undefined;
}

function foundAt(entry: string, json: UnknownObject | undefined): FoundPlugin & { readonly status: "found" } {
  const version = json?.name === "carryover" ? asString(json.version) : undefined;
  return { status: "found", entry, ...(version !== undefined && { version }) };
}

async function readPackage(folder: string): Promise<UnknownObject | undefined> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : asObject(jsonOrText(text));
}

function cacheHome({ XDG_CACHE_HOME, HOME }: Environment): string {
  return XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(HOME || homedir(), ".cache");
}
