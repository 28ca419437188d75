import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/** Where the plugin keeps its files: one folder, so that removing it removes everything. */
export function pluginFolders({ store, env }: PluginFolderOptions): PluginFolders {
  const root = store === undefined ? join(dataHome(env), "carryover") : resolve(expandHome(store));
  return {
    root,
    forks: join(root, "forks"),
    inherited: join(root, "inherited"),
    journal: join(root, "journal"),
    outputs: join(root, "outputs"),
    control: join(root, "control"),
  };
}

interface PluginFolderOptions {
  /** The option of that name; unset means the default place. */
  readonly store: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface PluginFolders {
  readonly root: string;
  /** One record per fork. */
  readonly forks: string;
  /** What children inherited, compressed, named by content. */
  readonly inherited: string;
  /** One log per root session. */
  readonly journal: string;
  /** Whole texts of what was cut. */
  readonly outputs: string;
  /** Requests to running plugins, and their leases. */
  readonly control: string;
}

/** The plugin's own log in its folder, for an agent that has none; the one before it has `.old` behind its name. */
export const LOG_FILE = "plugin.log";

/** The folder of the sessions of forks, for an agent that would offer them among its own: pi. */
export const CHILD_SESSIONS = "pi-sessions";

/** What is restored after the newest compaction of an agent that runs hooks, noted by the one before it. */
export const RESTORE_FILE = "restore.json";

/** What processes of one agent leave to each other: that results wait, modes of calls, and what children print. */
export const WAITING_FOLDER = "waiting";

/** Says by its time when hooks last had old outputs removed. */
export const CLEANED_FILE = "cleaned";

/** The folder below which programs keep their configuration. */
export function configHome({ XDG_CONFIG_HOME, HOME }: PluginFolderOptions["env"]): string {
  return absolute(XDG_CONFIG_HOME) ?? join(HOME || homedir(), ".config");
}

/** The options of the plugin, for agents that have no place for them; it need not be there. */
export function optionsFile(env: PluginFolderOptions["env"]): string {
  return join(configHome(env), "carryover", "options.json");
}

/** The folder below which programs keep their data. */
export function dataHome({ XDG_DATA_HOME, HOME }: PluginFolderOptions["env"]): string {
  return absolute(XDG_DATA_HOME) ?? join(HOME || homedir(), ".local", "share");
}

/** The XDG rules say that a relative path is to be ignored. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

const expandHome = (path: string): string => (path.startsWith("~/") ? join(homedir(), path.slice(2)) : path);

/** The folder or scope in which the records of a project are kept. */
export function projectFolder(project: string): string {
  return createHash("sha256").update(project).digest("hex").slice(0, 16);
}
