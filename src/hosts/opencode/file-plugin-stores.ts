import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Journal } from "../../session/journal.ts";
import { createFileJournal } from "../../stores/files/file-journal.ts";
import { createFileRecordStore } from "../../stores/files/file-record-store.ts";
import { createFileSpillStore } from "../../stores/files/file-spill-store.ts";
import { pathName } from "../../stores/files/path-name.ts";
import { createViewStore } from "./capture/view-store.ts";
import { createOpenLogs } from "./open-logs.ts";
import type { PluginFolders } from "./plugin-folder.ts";
import type { FollowedPlugin, PluginStores } from "./plugin-stores.ts";
import { projectName } from "./project-name.ts";
import { readForks } from "./recorded-forks.ts";
import { fileControlStore } from "./window/control-store.ts";
import { listPluginJournals } from "./window/read-plugin-journal.ts";

/** The plugin's stores in the folders of one home. */
export function filePluginStores({ folders, now, usedBy = "plugin" }: FileStoresSetup): PluginStores {
  const opened = createOpenLogs();
  const journalIn = (session: string): Journal =>
    createFileJournal({ root: folders.journal, session, durable: usedBy === "command" });
  return {
    spills: createFileSpillStore({ root: folders.spill }),
    views: createViewStore({ root: folders.views, now }),
    control: fileControlStore(folders.control),
    journal(session) {
      opened.add(session);
      return journalIn(session);
    },
    forks: (directory) => createFileRecordStore({ root: join(folders.forks, projectName(directory)) }),
    openLogs: opened.names,
    logs: async () => ({ logs: await listPluginJournals(folders.journal), problems: [] }),
    recordedForks: () => readForks(folders),
    follow: (session) => followFiles(journalIn(session), { folders, session }),
    now,
    open: async () => ({ status: "open" }),
    close: async () => {},
  };
}

export interface FileStoresSetup {
  readonly folders: PluginFolders;
  readonly now: () => number;
  readonly usedBy?: "plugin" | "command";
}

/** Looking costs a few file names; reading is done when a file has changed. */
function followFiles(journal: Journal, { folders, session }: FollowedPlace): FollowedPlugin {
  let lastSign = "never read";
  return {
    lookMs: 400,
    async look() {
      const sign = `${await signOfFolder(folders.journal, `${pathName(session)}.`)} ${await signOfTree(folders.forks)}`;
      if (sign === lastSign) return undefined;
      lastSign = sign;
      return { journal: await journal.read(), forks: await readForks(folders) };
    },
  };
}

interface FollowedPlace {
  readonly folders: PluginFolders;
  readonly session: string;
}

/** Changes whenever one of the files in a folder does whose names begin like this. */
async function signOfFolder(folder: string, prefix: string): Promise<string> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(prefix));
  return signOfFiles(names.sort().map((name) => join(folder, name)));
}

/** Of the files in the folders below. */
async function signOfTree(folder: string): Promise<string> {
  const below = await readdir(folder).catch(() => []);
  return (await Promise.all(below.sort().map((name) => signOfFolder(join(folder, name), "")))).join(" ");
}

/** Changes whenever one of the files does. */
export async function signOfFiles(paths: readonly string[]): Promise<string> {
  const signs = paths.map((path) =>
    stat(path).then(
      ({ size, mtimeMs }) => `${size}@${mtimeMs}`,
      () => "none",
    ),
  );
  return (await Promise.all(signs)).join(" ");
}
