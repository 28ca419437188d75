import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Journal } from "../../session/journal.ts";
import { createFileJournal } from "../../stores/files/journal.ts";
import { createFileOutputStore, type FileOutputStoreSettings } from "../../stores/files/output-store.ts";
import { pathName } from "../../stores/files/path-name.ts";
import { createFileRecordStore } from "../../stores/files/record-store.ts";
import { createLruMap } from "../../text/lru-map.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import { fileControlStore } from "./control-store.ts";
import { type PluginFolders, projectFolder } from "./folders.ts";
import { listPluginJournals } from "./journal.ts";
import type { FollowedPlugin, PluginStores } from "./plugin-stores.ts";
import { MAX_OPEN_LOGS, type PluginStoresSetup } from "./plugin-stores.ts";
import { readForks } from "./recorded-forks.ts";
import { createRequestStore } from "./requests.ts";

/** The plugin's stores in the folders of one home. */
export function filePluginStores({ folders, now, usedBy = "plugin" }: PluginStoresSetup): PluginStores {
  const opened = createLruMap<string, true>(MAX_OPEN_LOGS);
  const journalIn = (session: string): Journal => openJournal(folders, { session, usedBy });
  return {
    outputs: openOutputStore(folders),
    requests: createRequestStore({ root: folders.inherited, now }),
    control: fileControlStore(folders.control),
    journal(session) {
      opened.set(session, true);
      return journalIn(session);
    },
    forks: (project) => createFileRecordStore({ root: join(folders.forks, projectFolder(project)) }),
    openLogs: opened.keys,
    logs: async () => ({ logs: await listPluginJournals(folders.journal), problems: [] }),
    recordedForks: () => readForks(folders),
    follow: (session) => followFiles(journalIn(session), { folders, session }),
    now,
    open: async () => ({ status: "open" }),
    close: async () => {},
  };
}

/** The outputs that are kept whole in a home. */
export function openOutputStore(
  { outputs }: PluginFolders,
  options: Pick<FileOutputStoreSettings, "durable" | "cleaning"> = {},
): OutputStore {
  return createFileOutputStore({ root: outputs, ...options });
}

/** The log of one root session in a home. */
export function openJournal(
  { journal }: PluginFolders,
  { session, usedBy }: { readonly session: string } & Required<Pick<PluginStoresSetup, "usedBy">>,
): Journal {
  return createFileJournal({
    root: journal,
    session,
    durable: usedBy === "command",
    numbering: usedBy === "hook" ? "clock" : "read",
  });
}

/** Looking costs a few file names; reading is done when a file has changed. */
function followFiles(journal: Journal, { folders, session }: FollowedPlace): FollowedPlugin {
  let lastFingerprint = "never read";
  return {
    lookMs: 400,
    async look() {
      const journals = await fingerprintOfFolder(folders.journal, `${pathName(session)}.`);
      const fingerprint = `${journals} ${await fingerprintOfTree(folders.forks)}`;
      if (fingerprint === lastFingerprint) return undefined;
      const seen = { journal: await journal.read(), forks: await readForks(folders) };
      // Not before: what could not be read is looked at again.
      lastFingerprint = fingerprint;
      return seen;
    },
  };
}

interface FollowedPlace {
  readonly folders: PluginFolders;
  readonly session: string;
}

/** Changes whenever one of the files in a folder does whose names begin like this. */
async function fingerprintOfFolder(folder: string, prefix: string): Promise<string> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(prefix));
  return fingerprintOfFiles(names.sort().map((name) => join(folder, name)));
}

/** Of the files in the folders below. */
async function fingerprintOfTree(folder: string): Promise<string> {
  const below = await readdir(folder).catch(() => []);
  return (await Promise.all(below.sort().map((name) => fingerprintOfFolder(join(folder, name), "")))).join(
    " ",
  );
}

/** Changes whenever one of the files does. */
export async function fingerprintOfFiles(paths: readonly string[]): Promise<string> {
  const signs = paths.map((path) =>
    stat(path).then(
      ({ size, mtimeMs }) => `${size}@${mtimeMs}`,
      () => "none",
    ),
  );
  return (await Promise.all(signs)).join(" ");
}
