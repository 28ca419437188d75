import type { RecordStore } from "../../fork/life/record-store.ts";
import type { Journal } from "../../session/journal.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import type { StoreFailure } from "../store-failure.ts";
import { createPostgresDatabase, type PostgresDatabaseOptions, storableText } from "./database.ts";
import {
  listPostgresLogs,
  type PostgresInventory,
  type PostgresPurged,
  purgePostgres,
  type RowsToDelete,
  recordsBelow,
  type ScopedRecord,
  type StoredLog,
  takePostgresInventory,
} from "./inventory.ts";
import { createPostgresJournal, type FollowedJournal, followPostgresJournal } from "./journal.ts";
import { createPostgresRecordStore } from "./record-store.ts";
import {
  cleanPostgresSpills,
  createPostgresSpillStore,
  isCleaningDue,
  type PostgresCleanReport,
  type PostgresSpillLimits,
} from "./spill-store.ts";

/** All that the engine stores in one PostgreSQL, for agents on many machines. Connects when first used, and never throws. */
export function createPostgresStores(options: PostgresStoresOptions): PostgresStores {
  const database = createPostgresDatabase(options);
  const { cleaning = "hourly" } = options;
  let askedMs = Number.NEGATIVE_INFINITY;

  async function cleanWhenDue(): Promise<void> {
    if (cleaning === "never" || database.now() - askedMs < CLEANING_INTERVAL_MS) return;
    askedMs = database.now();
    if (!(await isCleaningDue(database))) return;
    const report = await cleanPostgresSpills(database, options);
    options.onCleaned?.(report);
  }

  const spillsOf = (claimant?: string): SpillStore =>
    createPostgresSpillStore({
      database,
      ...(claimant === undefined ? {} : { claimant }),
      onPut: () => void cleanWhenDue().catch(() => {}),
    });
  const journal = (sessionId: string): Journal => createPostgresJournal(database, sessionId);

  return {
    spills: spillsOf(),
    journal,
    records: (scope) => createPostgresRecordStore(database, scope),
    session: (sessionId) => ({ spills: spillsOf(sessionId), journal: journal(sessionId) }),
    async release(sessionId) {
      const text = `delete from ${database.table("spill_claims")} where claimant = $1`;
      const done = await database.use((connection) => connection.rows(text, [storableText(sessionId)]));
      return "status" in done ? done : { status: "released" };
    },
    logs: () => listPostgresLogs(database),
    follow: (sessionId) => followPostgresJournal(database, sessionId),
    recordsBelow: (prefix) =>
      database.use((connection) => recordsBelow(connection, { table: database.table("records"), prefix })),
    inventory: () => takePostgresInventory(database),
    purge: (choose) => purgePostgres(database, choose),
    clean: (limits) => cleanPostgresSpills(database, { ...options, ...limits }),
    async open() {
      const answer = await database.use((connection) => connection.rows("select 1", []));
      return "status" in answer ? answer : { status: "open" };
    },
    now: database.now,
    close: database.close,
  };
}

export interface PostgresStoresOptions extends PostgresDatabaseOptions, PostgresSpillLimits {
  /** Hourly means with a put, by one of all machines, at most once an hour; default hourly. */
  readonly cleaning?: "hourly" | "never";
  readonly onCleaned?: (report: PostgresCleanReport | StoreFailure) => void;
}

export interface PostgresStores {
  /** Outputs that nobody claims: the limits decide how long they are kept. */
  readonly spills: SpillStore;
  journal(sessionId: string): Journal;
  /** The records of one scope; those of another are never seen in it. */
  records(scope: string): RecordStore;
  /** What one session needs: its log, and a place for outputs that are kept until `release`. */
  session(sessionId: string): SessionStores;
  /** Gives up the outputs of a session; those that no other session claims may then be cleaned away. */
  release(sessionId: string): Promise<Released | StoreFailure>;
  /** Every log, the one written to last first. */
  logs(): Promise<readonly StoredLog[] | StoreFailure>;
  /** A session's log for somebody who only looks at it. */
  follow(sessionId: string): FollowedJournal;
  /** The records of all scopes whose name begins like this. */
  recordsBelow(prefix: string): Promise<readonly ScopedRecord[] | StoreFailure>;
  /** Everything that is kept, of all sessions and scopes; changes nothing. */
  inventory(): Promise<PostgresInventory | StoreFailure>;
  /** Removes what is chosen of everything that is kept, in one transaction. */
  purge(choose: (inventory: PostgresInventory) => RowsToDelete): Promise<PostgresPurged | StoreFailure>;
  clean(limits?: PostgresSpillLimits): Promise<PostgresCleanReport | StoreFailure>;
  /** Connects and migrates now, and says whether that worked; everything else does so by itself. */
  open(): Promise<Opened | StoreFailure>;
  /** The server's time in milliseconds, for leases that several machines look at. */
  now(): number;
  /** Ends the connections that were opened; a pool of yours is left alone. */
  close(): Promise<void>;
}

export interface SessionStores {
  readonly spills: SpillStore;
  readonly journal: Journal;
}

export interface Released {
  readonly status: "released";
}

export interface Opened {
  readonly status: "open";
}

const CLEANING_INTERVAL_MS = 3_600_000;
