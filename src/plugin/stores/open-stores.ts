import { databasePluginStores } from "./database-stores.ts";
import { filePluginStores } from "./file-stores.ts";
import { isDatabase, type PluginStores, type PluginStoresSetup } from "./plugin-stores.ts";

/** Opens the stores that the option `store` names: a folder, or a PostgreSQL that a fleet shares. */
export function openPluginStores(setup: PluginStoresSetup): PluginStores {
  const { store } = setup;
  return store !== undefined && isDatabase(store)
    ? databasePluginStores(store, setup)
    : filePluginStores(setup);
}
