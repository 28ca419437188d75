import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { configHome } from "../../plugin/stores/folders.ts";
import { jsonOrText } from "../../text/json.ts";
import { asArray, asObject, asString, isObject, type UnknownObject } from "../../text/unknown-value.ts";
import { type ConfiguredPlugin, isCarryover, isPathSpec, packageOf } from "../opencode/configuration.ts";
import { runToFile } from "../opencode/sessions.ts";

/** The file that OpenCode imports for a configured plugin, found by its rules; or why there is none, and what to do. */
export async function findPlugin({ spec, from }: ConfiguredPlugin, place: Place): Promise<FoundPlugin> {
  return isPathSpec(spec) ? findByPath({ spec, from }, place) : findPackage(spec, place);
}

export type Environment = Readonly<Record<string, string | undefined>>;

interface Place {
  readonly directory: string;
  readonly env: Environment;
  readonly host: "opencode" | "opencode2";
  /** The name under which the program is called; that of its version where unset. */
  readonly program?: string;
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

function notInstalled(name: string, { directory, env, host, program = "opencode" }: Place): FoundPlugin {
  const [install, path] =
    host === "opencode"
      ? [`opencode plugin ${name}`, `./node_modules/${name}`]
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

/**
 * Imports a plugin and, for OpenCode 1, calls it as that does, in a process of its own with a host that answers nothing, and gives
 * what it would register. With the program of OpenCode that is done by the JavaScript inside it, which also reads
 * TypeScript; else by Node.
 */
export async function loadPlugin(plugin: PluginToLoad): Promise<LoadedPlugin> {
  const { entry, options, binary, env } = plugin;
  const folder = await mkdtemp(join(tmpdir(), "carryover-load-"));
  try {
    const script = join(folder, "load.mjs");
    await writeFile(script, plugin.host === "opencode2" ? LOADER_2 : LOADER);
    const input = JSON.stringify({ entry: pathToFileURL(entry).href, options, directory: folder });
    // What the plugin keeps when it starts must not reach the user's own folders.
    const ownEnv = { ...env, XDG_DATA_HOME: join(folder, "data"), BUN_BE_BUN: "1", NODE_NO_WARNINGS: "1" };
    const run = { env: ownEnv, cwd: folder, stderr: "with-stdout", timeoutMs: LOAD_MS } as const;
    const { code, output } = await runToFile(binary ?? process.execPath, [script, input], run);
    const text = output.toString("utf8");
    const said = text.split("\n").findLast((line) => line.startsWith(MARK));
    if (said !== undefined) return readLoaded(said.slice(MARK.length));
    return { status: "failed", reason: `it ended with code ${code}: ${text.trim().slice(-300)}` };
  } catch (cause) {
    return { status: "failed", reason: String(cause) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface PluginToLoad {
  /** The file that OpenCode imports. */
  readonly entry: string;
  readonly options: unknown;
  /** The program of OpenCode. */
  readonly binary?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly host: "opencode" | "opencode2";
}

export type LoadedPlugin =
  | {
      readonly status: "loaded";
      readonly id: string | undefined;
      readonly tools: readonly string[];
      readonly hooks: readonly string[];
      /** What it logged as errors while it started. */
      readonly errors: readonly string[];
    }
  | { readonly status: "failed"; readonly reason: string };

function readLoaded(text: string): LoadedPlugin {
  const { reason, id, tools, hooks, errors } = asObject(jsonOrText(text));
  if (reason !== undefined) return { status: "failed", reason: String(reason) };
  const list = (value: unknown): readonly string[] => asArray(value).map(String);
  return { status: "loaded", id: asString(id), tools: list(tools), hooks: list(hooks), errors: list(errors) };
}

const LOAD_MS = 60_000;
const MARK = "carryover-loaded:";

/** The rules of OpenCode 1.18 for what a module must export. */
const LOADER = `
const { entry, options, directory } = JSON.parse(process.argv[2]);
const say = (value) => { process.stdout.write("\\n${MARK}" + JSON.stringify(value) + "\\n", () => process.exit(0)); };
const errors = [];
const fetch = async (request) => {
  const body = await request.json().catch(() => ({}));
  if (request.url.includes("/log") && body.level === "error") errors.push(body.message);
  return new Response("{}", { status: 200, headers: { "content-type": "application/json" } });
};
const client = { _client: { getConfig: () => ({ baseUrl: "http://127.0.0.1:1", fetch, headers: {} }) } };
const input = { client, project: { id: "doctor" }, worktree: directory, directory, serverUrl: new URL("http://127.0.0.1:1") };
const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const serversOf = (module) => {
  const plugin = module.default;
  if (isRecord(plugin) && ("id" in plugin || "server" in plugin || "tui" in plugin)) {
    if (typeof plugin.server !== "function") throw new TypeError("its default export has no server(): it is not a plugin for OpenCode 1");
    if (typeof plugin.id !== "string" || plugin.id.trim() === "") throw new TypeError("its default export has no id");
    return { id: plugin.id, servers: [plugin.server] };
  }
  const servers = [...new Set(Object.values(module))].map((each) => typeof each === "function" ? each : each?.server);
  if (servers.some((each) => typeof each !== "function")) throw new TypeError("it exports something that is not a plugin, and has no default export with server()");
  if (servers.length === 0) throw new TypeError("it exports nothing");
  return { servers };
};
try {
  const { id, servers } = serversOf(await import(entry));
  const hooks = [];
  for (const server of servers) hooks.push((await server(input, options)) ?? {});
  await new Promise((resolve) => setTimeout(resolve, 50));
  say({ id, errors, tools: hooks.flatMap((each) => Object.keys(each.tool ?? {})), hooks: hooks.flatMap((each) => Object.keys(each)) });
} catch (error) {
  say({ reason: String(error?.message ?? error) });
}
`;

/** The rules of OpenCode 2. `setup` is not called: what it would be given cannot be imitated. */
const LOADER_2 = `
const { entry } = JSON.parse(process.argv[2]);
const say = (value) => { process.stdout.write("\\n${MARK}" + JSON.stringify(value) + "\\n", () => process.exit(0)); };
try {
  const { default: plugin } = await import(entry);
  if (typeof plugin?.id !== "string" || plugin.id === "") throw new TypeError("its default export has no id");
  if (typeof plugin.setup !== "function") throw new TypeError("its default export has no setup(): it is a plugin for OpenCode 1 only, which OpenCode 2 refuses");
  say({ id: plugin.id, errors: [], tools: [], hooks: [] });
} catch (error) {
  say({ reason: String(error?.message ?? error) });
}
`;
