export type { PostgresCleanReport, PostgresOutputLimits } from "./stores/postgres/clean-outputs.ts";
export type { PostgresDatabaseOptions } from "./stores/postgres/database.ts";
export { createPostgresStores, type PostgresStoresOptions } from "./stores/postgres/door.ts";
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
export type { LoadPg, PgModule, PostgresClient, PostgresPool, Statement } from "./stores/postgres/pool.ts";
export type {
  Opened,
  PostgresStores,
  Released,
  SessionStores,
} from "./stores/postgres/stores.ts";
export type { StoreFailure } from "./text/failure.ts";
