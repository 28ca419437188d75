import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { hostConfigFolder, type PluginFolders, pluginFolders } from "../../plugin/stores/folders.ts";
import { openPluginStores } from "../../plugin/stores/open-stores.ts";
import { isDatabase, type PluginStores } from "../../plugin/stores/plugin-stores.ts";
import { hasPassword } from "../../stores/postgres/pool.ts";
import { asObject, asString } from "../../text/json.ts";
import { CliError, EXIT_CODES } from "../terminal/cli-error.ts";
import { isCarryover, readHostConfiguration } from "./configuration.ts";

/** Does a job with the stores that the plugin uses here, and closes them. Throws when a database cannot be used. */
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
  /** The folder or `database`, for a program to read. */
  readonly name: string;
  /** The same for a person; never an address. */
  readonly place: string;
}

/** What a database is called, whose address nobody is to see. */
export const DATABASE_LABEL = "the database of the option `store`";

/** The error of a command whose database cannot be used. */
export function databaseError({
  code,
  reason,
}: {
  readonly code: string;
  readonly reason: string;
}): CliError {
  const advice =
    code === "PG_NOT_INSTALLED"
      ? `Run npm install pg here or in ${hostConfigFolder(process.env)}.`
      : "`carryover doctor` looks at it; nothing was changed.";
  return new CliError(`Cannot use ${DATABASE_LABEL}: ${reason} (${code})`, [advice], {
    exitCode: EXIT_CODES.outside,
  });
}

/** Where the package `pg` may be, if it is not beside this program. */
export function packageFolders(): readonly string[] {
  return [process.cwd(), hostConfigFolder(process.env)];
}

/** The folders of the plugin: those of `--store`, else those that OpenCode's configuration for this folder names, else the default. */
export async function findPluginFolders(store: string | undefined): Promise<PluginFolders> {
  return foldersOf(await findStoreOption(store));
}

/** The address of a database is no path, and its password must not get into one. */
function foldersOf(store: string | undefined): PluginFolders {
  return pluginFolders({
    store: store === undefined || isDatabase(store) ? undefined : store,
    env: process.env,
  });
}

/** Where the plugin was told to keep things: `--store`, else the option in OpenCode's configuration for this folder. */
export async function findStoreOption(store: string | undefined): Promise<string | undefined> {
  if (store !== undefined) return checkNoPassword(store);
  const { plugins } = await readHostConfiguration({ directory: process.cwd(), env: process.env });
  const plugin = plugins.find(isCarryover);
  const named = asString(asObject(plugin?.options).store);
  if (named === undefined) return undefined;
  // An empty one counts as unset, for the plugin too.
  return (await substituteVariables(named, dirname(resolve(plugin?.from ?? ".")))) || undefined;
}

function checkNoPassword(store: string): string {
  if (!isDatabase(store) || !hasPassword(store)) return store;
  throw new CliError("Other users of this machine can read a command line, and this one holds a password", [
    "Write the address into the option `store` in OpenCode's configuration, as {env:NAME} or {file:path} if you like.",
    "Or leave the password out and keep it in ~/.pgpass or PGPASSWORD.",
  ]);
}

/** As OpenCode does it when it reads its configuration. */
async function substituteVariables(text: string, folder: string): Promise<string> {
  let whole = text.replace(/\{env:([^{}]+)\}/g, (_, name: string) => process.env[name] ?? "");
  for (const [reference, path = ""] of whole.matchAll(/\{file:([^{}]+)\}/g)) {
    const file = path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(folder, path);
    const content = await readFile(file, "utf8").catch(() => "");
    whole = whole.replace(reference, () => content.trim());
  }
  return whole;
}
