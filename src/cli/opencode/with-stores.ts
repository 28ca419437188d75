import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { configHome, type PluginFolders, pluginFolders } from "../../plugin/stores/folders.ts";
import { openPluginStores } from "../../plugin/stores/open-stores.ts";
import { isDatabase, type PluginLog, type PluginStores } from "../../plugin/stores/plugin-stores.ts";
import { hasPassword } from "../../stores/postgres/redact-connection.ts";
import type { StoreFailure } from "../../text/failure.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import { CliError, EXIT_CODES } from "../terminal/cli-error.ts";
import { isCarryover, readHostConfiguration } from "./configuration.ts";

/** The option by which a command is told where the plugin's stores are. */
export const STORE_OPTION = [
  "--store <folder>",
  "the plugin's folder, if it is not the one of OpenCode's configuration here",
] as const;

/** Opens the plugin's stores, runs a job with them and closes them. Throws when a database cannot be used. */
export async function withStores<Result>(
  store: string | undefined,
  job: (opened: OpenedStores) => Promise<Result>,
): Promise<Result> {
  const named = await findStoreOption(store);
  const folders = foldersOf(named);
  const isShared = named !== undefined && isDatabase(named);
  const stores = openPluginStores({
    store: named,
    folders,
    now: Date.now,
    packageFolders: packageFolders(),
    usedBy: "command",
  });
  try {
    const opened = await stores.open();
    if (opened.status === "failed") throw databaseError(opened);
    return await job({
      stores,
      name: isShared ? "database" : folders.root,
      place: isShared ? DATABASE_LABEL : folders.root,
    });
  } finally {
    await stores.close();
  }
}

export interface OpenedStores {
  readonly stores: PluginStores;
  /** The folder, or `database`; for `--json`. */
  readonly name: string;
  /** The same for the terminal; never the address of a database. */
  readonly place: string;
}

/** Names a database without its address, which may hold a password. */
export const DATABASE_LABEL = "the database of the option `store`";

/** Lists the plugin's logs; throws when some cannot be listed. */
export async function listLogs(stores: PluginStores): Promise<readonly PluginLog[]> {
  const { logs, problems } = await stores.logs();
  if (problems.length > 0) throw new CliError(`Cannot list the logs: ${problems.join("; ")}`, ["Try again."]);
  return logs;
}

/** The error of a command whose database cannot be used. */
export function databaseError({ code, reason }: Pick<StoreFailure, "code" | "reason">): CliError {
  const advice =
    code === "PG_NOT_INSTALLED"
      ? `Run npm install pg here or in ${join(configHome(process.env), "opencode")}.`
      : "`carryover doctor` looks at it; nothing was changed.";
  return new CliError(`Cannot use ${DATABASE_LABEL}: ${reason} (${code})`, [advice], {
    exitCode: EXIT_CODES.outside,
  });
}

/** Folders in which the package `pg` may be installed, if it is not beside this program. */
export function packageFolders(): readonly string[] {
  return [process.cwd(), join(configHome(process.env), "opencode")];
}

/** The plugin's folders: below `--store`, else below the option in OpenCode's configuration, else the default. */
export async function findPluginFolders(store: string | undefined): Promise<PluginFolders> {
  return foldersOf(await findStoreOption(store));
}

/** Ignores the address of a database, so that its password does not get into a path. */
function foldersOf(store: string | undefined): PluginFolders {
  return pluginFolders({
    store: store === undefined || isDatabase(store) ? undefined : store,
    env: process.env,
  });
}

/** The plugin's `store`: given by `--store`, else by OpenCode's configuration for this folder. */
export async function findStoreOption(store: string | undefined): Promise<string | undefined> {
  if (store !== undefined) return checkNoPassword(store);
  const { plugins2 } = await readHostConfiguration({ directory: process.cwd(), env: process.env });
  const plugin = plugins2.find(isCarryover);
  const named = asString(asObject(plugin?.options).store);
  if (named === undefined) return undefined;
  // The plugin treats an empty one as unset as well.
  return (await substituteVariables(named, dirname(resolve(plugin?.from ?? ".")))) || undefined;
}

function checkNoPassword(store: string): string {
  if (!isDatabase(store) || !hasPassword(store)) return store;
  throw new CliError("Other users of this machine can read a command line, and this one holds a password", [
    "Write the address into the option `store` in OpenCode's configuration, as {env:NAME} or {file:path} if you like.",
    "Or leave the password out and keep it in ~/.pgpass or PGPASSWORD.",
  ]);
}

/** Replaces `{env:NAME}` and `{file:path}` as OpenCode does in its configuration. */
async function substituteVariables(text: string, folder: string): Promise<string> {
  let result = text.replace(/\{env:([^{}]+)\}/g, (_, name: string) => process.env[name] ?? "");
  for (const [reference, path = ""] of result.matchAll(/\{file:([^{}]+)\}/g)) {
    const file = path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(folder, path);
    const content = await readFile(file, "utf8").catch(() => "");
    result = result.replace(reference, () => content.trim());
  }
  return result;
}
