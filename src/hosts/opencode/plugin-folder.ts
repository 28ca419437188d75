import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/** Where the plugin keeps everything: one folder, so that removing it removes all of ours. */
export function pluginFolders({ store, env }: PluginFolderOptions): PluginFolders {
  const root = store === undefined ? join(dataHome(env), "carryover") : resolve(expandHome(store));
  return {
    root,
    forks: join(root, "forks"),
    views: join(root, "views"),
    journal: join(root, "journal"),
    spill: join(root, "spill"),
    control: join(root, "control"),
  };
}

export interface PluginFolderOptions {
  /** The option of that name; unset means the default place. */
  readonly store: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface PluginFolders {
  readonly root: string;
  /** One record per fork. */
  readonly forks: string;
  /** What children inherited, compressed, named by content. */
  readonly views: string;
  /** One log per root session. */
  readonly journal: string;
  /** Whole texts of what was cut. */
  readonly spill: string;
  /** What is asked of a running plugin from outside, and who runs. */
  readonly control: string;
}

function dataHome(env: PluginFolderOptions["env"]): string {
  const given = env.XDG_DATA_HOME;
  // The XDG rules say that a relative path is to be ignored.
  return given && isAbsolute(given) ? given : join(env.HOME || homedir(), ".local", "share");
}

/** Where OpenCode keeps its global configuration, with packages beside it. */
export function hostConfigFolder(env: PluginFolderOptions["env"]): string {
  const given = env.XDG_CONFIG_HOME;
  return join(given && isAbsolute(given) ? given : join(env.HOME || homedir(), ".config"), "opencode");
}

const expandHome = (path: string): string => (path.startsWith("~/") ? join(homedir(), path.slice(2)) : path);
