import { hostConfigFolder, type PluginFolders } from "../opencode/plugin-folder.ts";
import { isDatabase, openPluginStores } from "../opencode/plugin-stores.ts";
import {
  findPluginFolders,
  findStoreOption,
  type RecordedForks,
  readForks,
  readForksIn,
} from "./forks-store.ts";

/** The forks that can be seen from here: of all projects in a folder, or of this one in a database. */
export async function openForks(store: string | undefined): Promise<OpenForks> {
  const named = await findStoreOption(store);
  const folders = await findPluginFolders(named);
  if (named === undefined || !isDatabase(named))
    return { folders, store: folders.root, place: folders.forks, read: () => readForks(folders) };
  return {
    folders,
    store: "database",
    place: "the database for this folder",
    async read() {
      const stores = openPluginStores({
        store: named,
        folders,
        now: Date.now,
        packageFolders: [process.cwd(), hostConfigFolder(process.env)],
      });
      try {
        return await readForksIn([{ place: "the database", records: stores.forks(process.cwd()) }]);
      } finally {
        await stores.close();
      }
    },
  };
}

export interface OpenForks {
  readonly folders: PluginFolders;
  /** What is told to a program; never an address. */
  readonly store: string;
  /** What is told to a person. */
  readonly place: string;
  read(): Promise<RecordedForks>;
}
