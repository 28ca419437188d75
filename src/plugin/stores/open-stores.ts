import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Journal } from "../../session/journal.ts";
import { pathName } from "../../stores/files/file-system.ts";
import { createFileJournal } from "../../stores/files/journal.ts";
import { createFileRecordStore } from "../../stores/files/record-store.ts";
import { createFileSpillStore, type FileSpillStoreSettings } from "../../stores/files/spill-store.ts";
import { createLoadPg } from "../../stores/postgres/pool.ts";
import { openPostgresStores, type PostgresStores } from "../../stores/postgres/stores.ts";
import { createLruMap } from "../../text/lru-map.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import { databaseControlStore, fileControlStore, PLUGIN_SCOPE } from "./control-store.ts";
import { homeName, knownHomeName, type PluginFolders, projectFolder } from "./folders.ts";
import { listPluginJournals } from "./journal.ts";
import {
  type FollowedPlugin,
  isDatabase,
  type PluginLogs,
  type PluginStores,
  type RecordedForks,
  readForks,
  recordedForks,
} from "./plugin-stores.ts";
import { createSharedViewStore, createViewStore } from "./views.ts";

/** Opens the stores that the option `store` names: a folder, or a PostgreSQL that a fleet shares. */
export function openPluginStores(setup: PluginStoresSetup): PluginStores {
  const { store } = setup;
  return store !== undefined && isDatabase(store)
    ? databasePluginStores(store, setup)
    : filePluginStores(setup);
}

interface PluginStoresSetup {
  /** The option of that name. */
  readonly store: string | undefined;
  readonly folders: PluginFolders;
  readonly now: () => number;
  /** Where the package `pg` may be, if it is not beside the plugin. */
  readonly packageFolders?: readonly string[];
  /**
   * A command writes rarely and to be sure; the plugin must not wait for the disk, and says where its sessions live. A hook
   * writes once and ends.
   */
  readonly usedBy?: "plugin" | "hook" | "command";
}

/** The plugin's stores in the folders of one home. */
function filePluginStores({ folders, now, usedBy = "plugin" }: PluginStoresSetup): PluginStores {
  const opened = createLruMap<string, true>(MAX_OPEN_LOGS);
  const journalIn = (session: string): Journal => openJournal(folders, { session, usedBy });
  return {
    spills: openSpills(folders),
    views: createViewStore({ root: folders.views, now }),
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
export function openSpills(
  { spill }: PluginFolders,
  options: Pick<FileSpillStoreSettings, "durable" | "cleaning"> = {},
): SpillStore {
  return createFileSpillStore({ root: spill, ...options });
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

/** The plugin runs for weeks; only the logs that it used lately are told to the command line. */
const MAX_OPEN_LOGS = 256;

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

/**
 * The plugin's stores in a database. Outputs, views and logs are shared by all machines, and so is what is asked of a
 * plugin, so that it is reached wherever it runs. Forks belong to one home: the sessions that they are about lie in it, and a
 * machine that took over a fork of another home would find neither its parent nor its child.
 */
function databasePluginStores(connectionString: string, setup: PluginStoresSetup): PluginStores {
  const stores = openPostgresStores({
    connectionString,
    load: createLoadPg(setup.packageFolders ?? []),
  });
  const { root } = setup.folders;
  // Where no plugin ever ran nothing is of this home, and looking must not make it one.
  const home = setup.usedBy === "command" ? (knownHomeName(root) ?? "unknown") : homeName(root);
  const opened = createLruMap<string, true>(MAX_OPEN_LOGS);
  return {
    spills: stores.spills,
    views: createSharedViewStore(stores.spills),
    control: databaseControlStore(stores),
    journal(session) {
      opened.set(session, true);
      return setup.usedBy === "command" ? stores.journal(session) : withHome(stores, { home, session });
    },
    forks: (project) => stores.records(`${homeScope(home)}forks/${projectFolder(project)}`),
    openLogs: opened.keys,
    logs: () => readLogs(stores, home),
    recordedForks: () => readForksBelow(stores, { home, prefix: ALL_HOMES }),
    follow: (session) => followDatabase(stores, { home, session }),
    now: stores.now,
    open: stores.open,
    close: stores.close,
  };
}

/** The part of a scope that says what its records are: forks of a home, the logs that were written in it, or requests. */
type ScopeKind = "forks" | "logs" | "control" | "other";

/** What is kept in a scope of the plugin. */
export function scopeKind(scope: string): ScopeKind {
  const [, kind] = /^plugin\/(?:[0-9a-f-]{36}\/)?(forks|logs|control)(?:\/|$)/.exec(scope) ?? [];
  return (kind as ScopeKind | undefined) ?? "other";
}

const ALL_HOMES = PLUGIN_SCOPE;

function homeScope(home: string): string {
  return `${ALL_HOMES}${home}/`;
}

interface LogOfHome {
  readonly home: string;
  readonly session: string;
}

/** A log that, with its first entry, also notes in which home it is written: nothing else in the database says so. */
function withHome(stores: PostgresStores, { home, session }: LogOfHome): Journal {
  const journal = stores.journal(session);
  let isNoted = false;
  const note = async (): Promise<void> => {
    const value = { schema: "log/1", rootSessionId: session };
    const noted = await stores
      .records(`${homeScope(home)}logs`)
      .put({ id: session, value, expected: "missing" });
    // A conflict says that it is there.
    isNoted = noted.status !== "failed";
  };
  return {
    append(value) {
      if (!isNoted) {
        isNoted = true;
        void note();
      }
      return journal.append(value);
    },
    read: () => journal.read(),
  };
}

async function readLogs(stores: PostgresStores, home: string): Promise<PluginLogs> {
  const [all, own] = await Promise.all([stores.logs(), stores.records(`${homeScope(home)}logs`).list()]);
  if ("status" in all) return { logs: [], problems: [all.reason] };
  if (own.status === "failed") return { logs: [], problems: [own.reason] };
  const ids = new Set(own.records.map(({ id }) => id));
  return {
    logs: all.map(({ sessionId, writtenAtMs }) => ({
      rootSessionId: sessionId,
      writtenAtMs,
      writtenIn: ids.has(sessionId) ? ("this-home" as const) : ("elsewhere" as const),
    })),
    problems: [],
  };
}

interface ForksQuestion {
  readonly home: string;
  readonly prefix: string;
}

async function readForksBelow(
  stores: PostgresStores,
  { home, prefix }: ForksQuestion,
): Promise<RecordedForks> {
  const found = await stores.recordsBelow(prefix);
  if ("status" in found)
    return recordedForks({ here: [], elsewhere: [], problems: [`the database: ${found.reason}`] });
  const forks = found.filter(({ scope }) => scopeKind(scope) === "forks");
  const isHere = (scope: string): boolean => scope.startsWith(homeScope(home));
  return recordedForks({
    here: forks.flatMap(({ scope, value }) => (isHere(scope) ? [value] : [])),
    elsewhere: forks.flatMap(({ scope, value }) => (isHere(scope) ? [] : [value])),
    problems: forks.flatMap(({ id, value }) =>
      value === undefined ? [`${id}: the stored value is not JSON`] : [],
    ),
  });
}

/** Asks for new entries at every look, and for the forks of the session's home when there are some, or after a while. */
function followDatabase(stores: PostgresStores, { home, session }: LogOfHome): FollowedPlugin {
  const log = stores.follow(session);
  let journal: Awaited<ReturnType<typeof log.look>>;
  let prefix: string | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  return {
    lookMs: 1_000,
    async look() {
      const news = await log.look();
      const nowMs = performance.now();
      if (news === undefined && nowMs - readAtMs < FORKS_MS) return undefined;
      journal = news ?? journal ?? { entries: [], problems: [] };
      readAtMs = nowMs;
      prefix ??= await homeOf(stores, session);
      return { journal, forks: await readForksBelow(stores, { home, prefix: prefix ?? ALL_HOMES }) };
    },
  };
}

const FORKS_MS = 5_000;

/** The part of the scopes that belongs to the home in which a log is written. */
async function homeOf(stores: PostgresStores, session: string): Promise<string | undefined> {
  const found = await stores.recordsBelow(ALL_HOMES);
  if ("status" in found) return undefined;
  const log = found.find(({ scope, id }) => scopeKind(scope) === "logs" && id === session);
  return log?.scope.slice(0, log.scope.lastIndexOf("/") + 1);
}
