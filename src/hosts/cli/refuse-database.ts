import { isDatabase } from "../opencode/plugin-stores.ts";
import { CliError } from "./cli-error.ts";
import { findStoreOption } from "./forks-store.ts";

/** Throws where the plugin keeps everything in a database: what this command reads is not in a folder then. */
export async function refuseDatabase(store: string | undefined): Promise<void> {
  const named = await findStoreOption(store);
  if (named === undefined || !isDatabase(named)) return;
  throw new CliError("The plugin writes down its edits in a database here, and this command reads folders", [
    "The recall tool in OpenCode gives back what was cleared.",
    "Name a folder with --store to look at what was kept before.",
  ]);
}
