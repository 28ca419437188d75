import type { RecordStore } from "../../fork/life/record-store.ts";
import type { Journal } from "../../session/journal.ts";
import { limitFrom, optionsCheck, type Shape } from "../../text/check.ts";
import type { StoreFailure } from "../../text/failure.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import {
  cleanPostgresOutputs,
  isCleaningDue,
  type PostgresCleanReport,
  type PostgresOutputLimits,
} from "./clean-outputs.ts";
import { createPostgresDatabase, type PostgresDatabaseSettings, storableText } from "./database.ts";
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
import { createPostgresOutputStore } from "./output-store.ts";
import { createPostgresRecordStore } from "./record-store.ts";

/** All stores in one PostgreSQL database, for agents on several machines. Connects when first used; its methods never throw. */
export function openPostgresStores(options: PostgresStoresSettings): PostgresStores {
  const database = createPostgresDatabase(options);
  const { cleaning = "hourly" } = options;
  let askedMs = Number.NEGATIVE_INFINITY;

  async function cleanWhenDue(): Promise<void> {
    if (cleaning === "never" || database.now() - askedMs < CLEANING_INTERVAL_MS) return;
    askedMs = database.now();
    if (!(await isCleaningDue(database))) return;
    const report = await cleanPostgresOutputs(database, options);
    options.onCleaned?.(report);
  }

  const outputsOf = (claimant?: string): OutputStore =>
    createPostgresOutputStore({
      database,
      ...(claimant === undefined ? {} : { claimant }),
      onPut: () => void cleanWhenDue().catch(() => {}),
    });
  const journal = (sessionId: string): Journal => createPostgresJournal(database, sessionId);

  return {
    outputs: outputsOf(),
    journal,
    records: (scope) => createPostgresRecordStore(database, scope),
    session: (sessionId) => ({ outputs: outputsOf(sessionId), journal: journal(sessionId) }),
    async release(sessionId) {
      const text = `delete from ${database.table("output_claims")} where claimant = $1`;
      const done = await database.use((connection) => connection.rows(text, [storableText(sessionId)]));
      return "status" in done ? done : { status: "released" };
    },
    logs: () => listPostgresLogs(database),
    follow: (sessionId) => followPostgresJournal(database, sessionId),
    recordsBelow: (prefix) =>
      database.use((connection) => recordsBelow(connection, { table: database.table("records"), prefix })),
    inventory: () => takePostgresInventory(database),
    purge: (choose) => purgePostgres(database, choose),
    async clean(limits) {
      checkLimits(limits);
      return cleanPostgresOutputs(database, { ...options, ...limits });
    },
    async open() {
      const answer = await database.use((connection) => connection.rows("select 1", []));
      return "status" in answer ? answer : { status: "open" };
    },
    now: database.now,
    close: database.close,
  };
}

/** The options with what only programs of ours and tests set. */
export interface PostgresStoresSettings extends PostgresDatabaseSettings, PostgresOutputLimits {
  /** `hourly`: with a put, at most once an hour on all machines together. */
  readonly cleaning?: "hourly" | "never";
  /** Called after each cleaning by this process. */
  readonly onCleaned?: (report: PostgresCleanReport | StoreFailure) => void;
}

const OUTPUT_LIMITS_SHAPE: Shape<PostgresOutputLimits> = {
  maxAgeMs: limitFrom(0),
  maxBytes: limitFrom(0),
  minAgeMs: limitFrom(0),
};

const checkLimits = optionsCheck(OUTPUT_LIMITS_SHAPE);

/** The stores of one database. */
export interface PostgresStores {
  /** A store for unclaimed outputs, which are kept as long as the limits allow. */
  readonly outputs: OutputStore;
  /** The journal of a session. */
  journal(sessionId: string): Journal;
  /** The record store of one scope. */
  records(scope: string): RecordStore;
  /** The stores of a session: its journal, and an output store whose outputs are kept until `release`. */
  session(sessionId: string): SessionStores;
  /** Releases the outputs of a session; those that no other session claims can then be removed. */
  release(sessionId: string): Promise<Released | StoreFailure>;
  /** All logs, the most recently written first. */
  logs(): Promise<readonly StoredLog[] | StoreFailure>;
  /** Polls the log of a session for changes. */
  follow(sessionId: string): FollowedJournal;
  /** The records of all scopes with this prefix. */
  recordsBelow(prefix: string): Promise<readonly ScopedRecord[] | StoreFailure>;
  /** Lists everything that is stored. */
  inventory(): Promise<PostgresInventory | StoreFailure>;
  /** Deletes what `choose` selects, in one transaction. */
  purge(choose: (inventory: PostgresInventory) => RowsToDelete): Promise<PostgresPurged | StoreFailure>;
  /** Removes outputs that exceed the limits. */
  clean(limits?: PostgresOutputLimits): Promise<PostgresCleanReport | StoreFailure>;
  /** Connects and migrates now, to find out whether that works; the other methods connect by themselves. */
  open(): Promise<Opened | StoreFailure>;
  /** The server's time in milliseconds, for leases that machines share. */
  now(): number;
  /** Closes the connections; your own pool is left open. */
  close(): Promise<void>;
}

/** The stores of one session. */
export interface SessionStores {
  readonly outputs: OutputStore;
  readonly journal: Journal;
}

/** The outputs were released. */
export interface Released {
  readonly status: "released";
}

/** The database is connected and migrated. */
export interface Opened {
  readonly status: "open";
}

const CLEANING_INTERVAL_MS = 3_600_000;
