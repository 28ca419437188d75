import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { jsonOrText } from "../../text/json.ts";
import { asArray, asObject } from "../../text/unknown-value.ts";
import { runToFile } from "../opencode/sessions.ts";
import type { OpencodeHost } from "./find-plugin.ts";

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
  readonly binary: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly host: OpencodeHost;
}

export type LoadedPlugin =
  | {
      readonly status: "loaded";
      readonly tools: readonly string[];
      readonly hooks: readonly string[];
      /** What it logged as errors while it started. */
      readonly errors: readonly string[];
    }
  | { readonly status: "failed"; readonly reason: string };

function readLoaded(text: string): LoadedPlugin {
  const { reason, tools, hooks, errors } = asObject(jsonOrText(text));
  if (reason !== undefined) return { status: "failed", reason: String(reason) };
  const list = (value: unknown): readonly string[] => asArray(value).map(String);
  return { status: "loaded", tools: list(tools), hooks: list(hooks), errors: list(errors) };
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
    return [plugin.server];
  }
  const servers = [...new Set(Object.values(module))].map((each) => typeof each === "function" ? each : each?.server);
  if (servers.some((each) => typeof each !== "function")) throw new TypeError("it exports something that is not a plugin, and has no default export with server()");
  if (servers.length === 0) throw new TypeError("it exports nothing");
  return servers;
};
try {
  const servers = serversOf(await import(entry));
  const hooks = [];
  for (const server of servers) hooks.push((await server(input, options)) ?? {});
  await new Promise((resolve) => setTimeout(resolve, 50));
  say({ errors, tools: hooks.flatMap((each) => Object.keys(each.tool ?? {})), hooks: hooks.flatMap((each) => Object.keys(each)) });
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
  say({ errors: [], tools: [], hooks: [] });
} catch (error) {
  say({ reason: String(error?.message ?? error) });
}
`;
