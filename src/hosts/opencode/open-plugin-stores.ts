import { databasePluginStores } from "./database-plugin-stores.ts";
import { filePluginStores } from "./file-plugin-stores.ts";
import type { PluginFolders } from "./plugin-folder.ts";
import { isDatabase, type PluginStores } from "./plugin-stores.ts";

/** Opens the stores that the option `store` names: a folder, or a PostgreSQL that a fleet shares. */
export function openPluginStores(setup: PluginStoresSetup): PluginStores {
  const { store } = setup;
  return store !== undefined && isDatabase(store)
    ? databasePluginStores({ ...setup, connectionString: store })
    : filePluginStores(setup);
}

export interface PluginStoresSetup {
  /** The option of that name. */
  readonly store: string | undefined;
  readonly folders: PluginFolders;
  readonly now: () => number;
  /** Where the package `pg` may be, if it is not beside the plugin. */
  readonly packageFolders?: readonly string[];
  /** A command writes rarely and to be sure; the plugin must not wait for the disk, and says where its sessions live. */
  readonly usedBy?: "plugin" | "command";
}
