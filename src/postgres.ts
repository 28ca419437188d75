export type { StoreFailure } from "./stores/files/store-failure.ts";
export type { PostgresCleanReport, PostgresSpillLimits } from "./stores/postgres/clean-postgres-spills.ts";
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
