import { randomUUID } from "node:crypto";
import { afterAll, afterEach } from "vitest";
import {
  openPostgresStores,
  type PostgresStores,
  type PostgresStoresSettings,
} from "../../src/stores/postgres/stores.ts";
import { type PostgresServer, startPostgres } from "../rig/postgres/start-postgres.ts";

/** One real server for a test file, ended with it; undefined where there is none to be had. */
export async function postgresForTests(): Promise<PostgresForTests | undefined> {
  const server = await startPostgres();
  if (server === undefined) return undefined;
  const opened = new Set<PostgresStores>();
  const closeAll = async (): Promise<void> => {
    const all = [...opened];
    opened.clear();
    await Promise.all(all.map((stores) => stores.close()));
  };
  afterEach(closeAll);
  afterAll(() => server.stop());
  return {
    server,
    newSchema: () => `test_${randomUUID().replaceAll("-", "")}`,
    open(schema, options = {}) {
      const stores = openPostgresStores({
        connectionString: server.connectionString,
        schema,
        maxConnections: 2,
        cleaning: "never",
        ...options,
      });
      opened.add(stores);
      return stores;
    },
  };
}

export interface PostgresForTests {
  readonly server: PostgresServer;
  newSchema(): string;
  /** Stores on this schema as another process would have them; closed after the test. */
  open(schema: string, options?: Partial<PostgresStoresSettings>): PostgresStores;
}
