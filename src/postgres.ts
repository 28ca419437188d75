export type { DatabaseClock, PostgresDatabaseOptions } from "./stores/postgres/database.ts";
export type {
  InventoryLog,
  InventoryOutput,
  OutputClaim,
  PostgresInventory,
  PostgresPurged,
  RowsToDelete,
  ScopedRecord,
  StoredLog,
} from "./stores/postgres/inventory.ts";
export type { FollowedJournal } from "./stores/postgres/journal.ts";
export type {
  LoadPg,
  PgModule,
  PostgresClient,
  PostgresPool,
  Statement,
} from "./stores/postgres/pool.ts";
export type { PostgresCleanReport, PostgresSpillLimits } from "./stores/postgres/spill-store.ts";
export {
  createPostgresStores,
  type Opened,
  type PostgresStores,
  type PostgresStoresOptions,
  type Released,
  type SessionStores,
} from "./stores/postgres/stores.ts";
export type { StoreFailure } from "./text/json.ts";
