import type { Journal } from "../../session/journal.ts";
import { createLoadPg } from "../../stores/postgres/pool.ts";
import { openPostgresStores, type PostgresStores } from "../../stores/postgres/stores.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { databaseControlStore, PLUGIN_SCOPE } from "./control-store.ts";
import { projectFolder } from "./folders.ts";
import { homeName, knownHomeName } from "./home-name.ts";
import type { FollowedPlugin, PluginLogs, PluginStores } from "./plugin-stores.ts";
import { MAX_OPEN_LOGS, type PluginStoresSetup } from "./plugin-stores.ts";
import { type RecordedForks, recordedForks } from "./recorded-forks.ts";
import { createSharedRequestStore } from "./requests.ts";

/**
 * The plugin's stores in a database. Outputs, views and logs are shared by all machines, and so is what is asked of a
 * plugin, so that it is reached wherever it runs. Forks belong to one home: the sessions that they are about lie in it, and a
 * machine that took over a fork of another home would find neither its parent nor its child.
 */
export function databasePluginStores(connectionString: string, setup: PluginStoresSetup): PluginStores {
  const stores = openPostgresStores({
    connectionString,
    load: createLoadPg(setup.packageFolders ?? []),
  });
  const { root } = setup.folders;
  // Where no plugin ever ran nothing is of this home, and looking must not make it one.
  const home = setup.usedBy === "command" ? (knownHomeName(root) ?? "unknown") : homeName(root);
  const opened = createLruMap<string, true>(MAX_OPEN_LOGS);
  return {
    outputs: stores.outputs,
    requests: createSharedRequestStore(stores.outputs),
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
