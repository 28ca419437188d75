import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Journal } from "../../session/journal.ts";
import { createFileJournal } from "../../stores/files/file-journal.ts";
import { createFileRecordStore } from "../../stores/files/file-record-store.ts";
import { createFileSpillStore } from "../../stores/files/file-spill-store.ts";
import type { StoreFailure } from "../../stores/files/store-failure.ts";
import { createLoadPg } from "../../stores/postgres/load-pg.ts";
import { createPostgresStores } from "../../stores/postgres/postgres-stores.ts";
import type { RecordStore } from "../../tasks/record-store.ts";
import type { SpillStore } from "../../tool-output/spill-store.ts";
import { createSharedViewStore, createViewStore, type ViewStore } from "./capture/view-store.ts";
import { homeName } from "./home-name.ts";
import type { PluginFolders } from "./plugin-folder.ts";
import { type ControlStore, createControlStore } from "./window/control-store.ts";

/** Everything that the plugin keeps, in files or in a database. */
export interface PluginStores {
  readonly spills: SpillStore;
  readonly views: ViewStore;
  readonly control: ControlStore;
  journal(rootSessionId: string): Journal;
  /** The records of the forks of one project. */
  forks(directory: string): RecordStore;
  /** The time by which leases are judged, the same for all who share these stores, in milliseconds. */
  now(): number;
  /** Says whether they can be used; files always can, or say so themselves. */
  open(): Promise<{ readonly status: "open" } | StoreFailure>;
  close(): Promise<void>;
}

/** Opens the stores that the option `store` names: a folder, or a PostgreSQL that a fleet shares. */
export function openPluginStores(setup: PluginStoresSetup): PluginStores {
  const { store } = setup;
  return store !== undefined && isDatabase(store)
    ? databaseStores({ ...setup, connectionString: store })
    : fileStores(setup);
}

export interface PluginStoresSetup {
  /** The option of that name. */
  readonly store: string | undefined;
  readonly folders: PluginFolders;
  readonly now: () => number;
  /** Where the package `pg` may be, if it is not beside the plugin. */
  readonly packageFolders?: readonly string[];
}

/** True for the address of a database, which may hold a password. */
export function isDatabase(store: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(store);
}

function fileStores({ folders, now }: PluginStoresSetup): PluginStores {
  return {
    spills: createFileSpillStore({ root: folders.spill }),
    views: createViewStore({ root: folders.views, now }),
    control: createControlStore(folders.control),
    journal: (session) => createFileJournal({ root: folders.journal, session, durable: false }),
    forks: (directory) => createFileRecordStore({ root: join(folders.forks, projectName(directory)) }),
    now,
    open: async () => ({ status: "open" }),
    close: async () => {},
  };
}

/**
 * Outputs, views and logs are shared by all machines. Forks belong to one home: the sessions that they are about lie in it,
 * and a machine that took over a fork of another home would find neither its parent nor its child. What is asked of a plugin
 * stays in files: it is asked by a program of the same home, and looked for every second.
 */
function databaseStores({ connectionString, folders, packageFolders = [] }: DatabaseSetup): PluginStores {
  const stores = createPostgresStores({
    connectionString,
    statementTimeoutMs: STATEMENT_MS,
    load: createLoadPg(packageFolders),
  });
  const home = homeName(folders.root);
  return {
    spills: stores.spills,
    views: createSharedViewStore(stores.spills),
    control: createControlStore(folders.control),
    journal: stores.journal,
    forks: (directory) => stores.records(`opencode/${home}/forks/${projectName(directory)}`),
    now: stores.now,
    open: stores.open,
    close: stores.close,
  };
}

/** An agent waits for its hooks: rather no answer than a late one. */
const STATEMENT_MS = 10_000;

interface DatabaseSetup extends PluginStoresSetup {
  readonly connectionString: string;
}

/** Forks of different projects never meet: an instance of the host serves one. */
function projectName(directory: string): string {
  return createHash("sha256").update(directory).digest("hex").slice(0, 16);
}
