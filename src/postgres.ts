export type { StoreFailure } from "./stores/files/store-failure.ts";
export type { PostgresCleanReport, PostgresSpillLimits } from "./stores/postgres/clean-postgres-spills.ts";
export type { FollowedJournal } from "./stores/postgres/follow-postgres-journal.ts";
export type { DatabaseClock, PostgresDatabaseOptions } from "./stores/postgres/postgres-database.ts";
export type {
  LoadPg,
  PgModule,
  PostgresClient,
  PostgresPool,
  Statement,
} from "./stores/postgres/postgres-pool.ts";
export {
  createPostgresStores,
  type Opened,
  type PostgresStores,
  type PostgresStoresOptions,
  type Released,
  type SessionStores,
} from "./stores/postgres/postgres-stores.ts";
export type {
  DoomedRows,
  InventoryLog,
  InventoryOutput,
  OutputClaim,
  PostgresInventory,
  PostgresPurged,
} from "./stores/postgres/purge-postgres.ts";
export type { ScopedRecord, StoredLog } from "./stores/postgres/stored-sessions.ts";
